"""Talks to the tests as a client in another language does: over nats-py, with events of the CloudEvents SDK.

peer.py URL send MODE SUBJECT TYPE JSON     publishes an event; MODE is binary or structured
peer.py URL store MODE SUBJECT TYPE JSON    the same, and waits for the acknowledgement of a stream
peer.py URL ask MODE SUBJECT TYPE JSON      sends a request, and prints the response
peer.py URL put MODE BUCKET KEY TYPE JSON   sets a value of the key-value store
peer.py URL hear SUBJECT COUNT              prints events that it receives
peer.py URL fetch SUBJECT NAME COUNT        prints events of a stream, acknowledges them
peer.py URL respond MODE SUBJECT COUNT      answers requests with {"echo": …}, and prints them

It prints READY when it is subscribed. An event that is not valid CloudEvents 1.0 ends it with the error of the SDK.
"""

import asyncio
import json
import sys

import nats
from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent


def encode(mode, type_, data):
    event = CloudEvent(
        attributes={"type": type_, "source": "/python", "datacontenttype": "application/json"}, data=json.loads(data)
    )
    message = (to_binary_event if mode == "binary" else to_structured_event)(event)
    return message.body, dict(message.headers)


def show(message):
    event = from_http_event(HTTPMessage(headers=dict(message.headers or {}), body=message.data))
    print(
        json.dumps(
            {
                "subject": message.subject,
                "type": event.get_type(),
                "source": event.get_source(),
                "id": event.get_id(),
                "hasTime": event.get_time() is not None,
                "data": event.get_data(),
            },
            sort_keys=True,
        ),
        flush=True,
    )
    return event


async def subscribed(client, subject):
    subscription = await client.subscribe(subject)
    # The client writes a ping at once, before what it has queued (nats-py 2.16): the answer to the second one comes
    # after the server has the subscription.
    await client.flush()
    await client.flush()
    return subscription


async def main(url, command, *arguments):
    client = await nats.connect(url)
    if command == "send":
        mode, subject, type_, data = arguments
        body, headers = encode(mode, type_, data)
        await client.publish(subject, body, headers=headers)
    elif command == "store":
        mode, subject, type_, data = arguments
        body, headers = encode(mode, type_, data)
        await client.jetstream().publish(subject, body, headers=headers)
    elif command == "ask":
        mode, subject, type_, data = arguments
        body, headers = encode(mode, type_, data)
        show(await client.request(subject, body, headers=headers, timeout=20))
    elif command == "put":
        mode, bucket, key, type_, data = arguments
        body, headers = encode(mode, type_, data)
        await client.jetstream().publish(f"$KV.{bucket}.{key}", body, headers=headers)
    elif command == "hear":
        subject, count = arguments
        subscription = await subscribed(client, subject)
        print("READY", flush=True)
        for _ in range(int(count)):
            show(await subscription.next_msg(timeout=60))
    elif command == "fetch":
        subject, name, count = arguments
        subscription = await client.jetstream().pull_subscribe(subject, durable=name)
        print("READY", flush=True)
        for _ in range(int(count)):
            for message in await subscription.fetch(1, timeout=60):
                show(message)
                await message.ack_sync()
    elif command == "respond":
        mode, subject, count = arguments
        subscription = await subscribed(client, subject)
        print("READY", flush=True)
        for _ in range(int(count)):
            request = await subscription.next_msg(timeout=60)
            event = show(request)
            body, headers = encode(mode, subject, json.dumps({"echo": event.get_data()}))
            await client.publish(request.reply, body, headers=headers)
    await client.drain()
    print("DONE", flush=True)


asyncio.run(main(*sys.argv[1:]))
