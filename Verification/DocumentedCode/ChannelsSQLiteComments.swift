// As File.swift
