-- The tables and functions of swift-channels, in the first schema of the search_path. A transport runs this if it may
-- create tables; otherwise run it once, as their owner, and grant the user of the programs all of it.
--
-- Where a position is kept, it is a snapshot (pg_snapshot): the transactions that it sees. What is new is what it does not
-- see, whatever its number: a message whose transaction took a number early, and commits late, is not skipped.

CREATE TABLE channels_schema (version int NOT NULL, system text NOT NULL);
INSERT INTO channels_schema SELECT 1, system_identifier FROM pg_control_system();
CREATE SEQUENCE channels_number;
-- The number is an order for one publisher, and a name for the message; the transaction says which snapshots see it.
CREATE TABLE channels_messages (
    number bigint PRIMARY KEY DEFAULT nextval('channels_number'),
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    subject text NOT NULL,
    -- A line for each: name:value.
    headers text NOT NULL DEFAULT '',
    body bytea NOT NULL,
    time timestamptz NOT NULL DEFAULT clock_timestamp(),
    identifier text UNIQUE GENERATED ALWAYS AS (substring(headers from '(?in)^ce-id:(.*)$')) STORED
);
CREATE INDEX channels_messages_xid ON channels_messages (xid);
CREATE INDEX channels_messages_time ON channels_messages (time);
-- Those that are not durable; a crash of the server empties it.
CREATE UNLOGGED TABLE channels_plain (
    number bigint PRIMARY KEY DEFAULT nextval('channels_number'),
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    subject text NOT NULL,
    headers text NOT NULL DEFAULT '',
    body bytea NOT NULL,
    time timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX channels_plain_xid ON channels_plain (xid);
CREATE INDEX channels_plain_time ON channels_plain (time);
CREATE TABLE channels_values (
    subject text PRIMARY KEY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    revision bigint NOT NULL,
    headers text NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX channels_values_xid ON channels_values (xid);
-- What the snapshot of a name sees was distributed: it is settled, or in channels_unsettled.
CREATE TABLE channels_names (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    pattern text NOT NULL,
    seen pg_snapshot NOT NULL,
    -- Earlier messages are not distributed.
    first bigint NOT NULL,
    since timestamptz NOT NULL,
    UNIQUE (name, pattern)
);
-- The connections. Each has the advisory lock of its number as long as it lives.
CREATE TABLE channels_sessions (token bigint PRIMARY KEY, process text NOT NULL, since timestamptz NOT NULL DEFAULT now());
CREATE TABLE channels_unsettled (
    number bigint NOT NULL,
    name bigint NOT NULL REFERENCES channels_names ON DELETE CASCADE,
    size int NOT NULL,
    deliveries int NOT NULL DEFAULT 0,
    -- The session that has it; NULL: any may take it, when it is due.
    holder bigint,
    due timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (number, name)
);
CREATE INDEX channels_free ON channels_unsettled (name, number) WHERE holder IS NULL;
CREATE INDEX channels_held ON channels_unsettled (holder) WHERE holder IS NOT NULL;

-- A bell, and nothing more: what it announces is in the tables.
CREATE FUNCTION channels_ring() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_notify('channels', ''); RETURN NULL; END $$;
CREATE TRIGGER channels_ring AFTER INSERT ON channels_messages EXECUTE FUNCTION channels_ring();
CREATE TRIGGER channels_ring AFTER INSERT ON channels_plain EXECUTE FUNCTION channels_ring();
CREATE TRIGGER channels_ring AFTER INSERT OR UPDATE ON channels_values EXECUTE FUNCTION channels_ring();

-- The regular expression of the subjects that match a pattern.
CREATE FUNCTION channels_expression(pattern text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT '^' || string_agg(CASE token WHEN '*' THEN '[^.]+' WHEN '>' THEN '.+'
        ELSE regexp_replace(token, '([][\\^$.|?*+(){}])', '\\\1', 'g') END, '\.' ORDER BY place) || '$'
    FROM unnest(string_to_array(pattern, '.')) WITH ORDINALITY AS tokens (token, place) $$;

-- MARK: Storing

-- The outbox for any client: with headers of one's own, or with an envelope for JSON.
CREATE FUNCTION channels_post(subject text, headers text, body bytea) RETURNS void LANGUAGE sql AS $$
    INSERT INTO channels_messages (subject, headers, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING $$;
CREATE FUNCTION channels_post(subject text, message jsonb) RETURNS void LANGUAGE sql AS $$
    SELECT channels_post($1, concat_ws(E'\n', 'ce-specversion:1.0', 'ce-id:' || gen_random_uuid(), 'ce-source:outbox',
        'ce-time:' || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'content-type:application/json'), convert_to($2::text, 'UTF8')) $$;

-- Its revisions increase also after an older copy of the database was restored: they are times, and one more than the
-- former one at least.
CREATE FUNCTION channels_store(subject text, headers text, body bytea, if_none boolean) RETURNS SETOF bigint LANGUAGE sql AS $$
    INSERT INTO channels_values AS old (subject, headers, body, revision)
    VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    ON CONFLICT (subject) DO UPDATE SET revision = greatest(old.revision + 1, EXCLUDED.revision), xid = pg_current_xact_id(),
        headers = EXCLUDED.headers, body = EXCLUDED.body WHERE NOT $4
    RETURNING revision $$;

-- MARK: Reading by position

CREATE FUNCTION channels_new_messages(seen pg_snapshot)
    RETURNS TABLE (now text, number bigint, subject text, headers text, body bytea) LANGUAGE sql AS $$
    SELECT pg_current_snapshot()::text, new.* FROM (VALUES (1)) AS one LEFT JOIN (
        SELECT number, subject, headers, body FROM channels_messages
            WHERE xid >= pg_snapshot_xmin(seen) AND NOT pg_visible_in_snapshot(xid, seen)
        UNION ALL SELECT number, subject, headers, body FROM channels_plain
            WHERE xid >= pg_snapshot_xmin(seen) AND NOT pg_visible_in_snapshot(xid, seen)
    ) AS new ON true ORDER BY number $$;
CREATE FUNCTION channels_new_values(seen pg_snapshot, pattern text)
    RETURNS TABLE (now text, revision bigint, subject text, headers text, body bytea) LANGUAGE sql AS $$
    SELECT pg_current_snapshot()::text, new.* FROM (VALUES (1)) AS one LEFT JOIN (
        SELECT revision, subject, headers, body FROM channels_values WHERE xid >= pg_snapshot_xmin(seen)
            AND NOT pg_visible_in_snapshot(xid, seen) AND subject ~ channels_expression(pattern)
    ) AS new ON true ORDER BY revision $$;

-- MARK: Durable names

CREATE FUNCTION channels_enter(name text, pattern text, is_new boolean, first bigint, since float8) RETURNS bigint
    LANGUAGE sql AS $$
    INSERT INTO channels_names (name, pattern, seen, first, since)
    VALUES ($1, $2, CASE WHEN is_new THEN pg_current_snapshot() ELSE '1:1:' END, $4, to_timestamp($5)) ON CONFLICT DO NOTHING;
    SELECT id FROM channels_names n WHERE n.name = $1 AND n.pattern = $2 $$;

-- Enters the messages that a name's snapshot does not see. The row is locked by a statement of its own, so that the
-- snapshot of the next one is later. Snapshot and messages are of one statement.
CREATE FUNCTION channels_distribute(who bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE old pg_snapshot;
    BEGIN
        SELECT seen INTO old FROM channels_names WHERE id = who;
        IF NOT EXISTS (SELECT FROM channels_messages
            WHERE xid >= pg_snapshot_xmin(old) AND NOT pg_visible_in_snapshot(xid, old)) THEN RETURN; END IF;
        SELECT seen INTO old FROM channels_names WHERE id = who FOR UPDATE;
        WITH name AS (UPDATE channels_names SET seen = pg_current_snapshot() WHERE id = who RETURNING *)
        INSERT INTO channels_unsettled (number, name, size)
        SELECT m.number, who, octet_length(m.subject) + octet_length(m.headers) + octet_length(m.body)
        FROM channels_messages m, name WHERE m.xid >= pg_snapshot_xmin(old) AND NOT pg_visible_in_snapshot(m.xid, old)
            AND m.subject ~ channels_expression(name.pattern) AND m.number >= name.first AND m.time >= name.since
        ON CONFLICT DO NOTHING;
    END $$;

-- Has a session hold the next messages of a name: at most so many, with so many bytes, or one if it holds none.
CREATE FUNCTION channels_claim(who bigint, session bigint, most int, room bigint, alone boolean)
    RETURNS TABLE (number bigint, deliveries int, stored float8, subject text, headers text, body bytea)
    LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    BEGIN
        -- What a crash of the server takes from a claim was held by nobody any more.
        PERFORM set_config('synchronous_commit', 'off', true);
        PERFORM channels_distribute(who);
        RETURN QUERY
        WITH free AS MATERIALIZED (SELECT u.number, u.size FROM channels_unsettled u
            WHERE u.name = who AND u.holder IS NULL AND u.due <= clock_timestamp()
            ORDER BY u.number LIMIT most FOR UPDATE SKIP LOCKED),
        fitting AS (SELECT f.number, sum(f.size) OVER byNumber AS total, row_number() OVER byNumber AS place
            FROM free f WINDOW byNumber AS (ORDER BY f.number)),
        claimed AS (UPDATE channels_unsettled u SET holder = session, deliveries = u.deliveries + 1
            FROM fitting f WHERE u.name = who AND u.number = f.number AND (f.total <= room OR f.place = 1 AND alone)
            RETURNING u.number, u.deliveries)
        SELECT c.number, c.deliveries, extract(epoch FROM m.time)::float8, m.subject, m.headers, m.body
        FROM claimed c JOIN channels_messages m USING (number) ORDER BY c.number;
    END $$;

-- Settles a message; with a delay, gives it back; with a letter, keeps that instead. Returns 1; 0 if the session has it no
-- more; -1 while a listener's transaction is settling it, for which the thread of a connection does not wait.
CREATE FUNCTION channels_settle(who bigint, message bigint, delivery int, session bigint, delay float8,
    letter text, letter_headers text, letter_body bytea) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM channels_unsettled WHERE number = message AND name = who AND deliveries = delivery AND holder = session
            FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN -count(*) FROM channels_unsettled
                WHERE number = message AND name = who AND deliveries = delivery AND holder = session;
        END IF;
        IF letter IS NOT NULL THEN PERFORM channels_post(letter, letter_headers, letter_body); END IF;
        IF delay IS NULL THEN DELETE FROM channels_unsettled WHERE number = message AND name = who;
        ELSE UPDATE channels_unsettled SET holder = NULL, due = clock_timestamp() + delay * interval '1 second'
            WHERE number = message AND name = who; END IF;
        RETURN 1;
    END $$;

-- MARK: Sessions

-- Begins a session. Returns the cluster, and its transaction.
CREATE FUNCTION channels_begin(own bigint, process text) RETURNS TABLE (system text, transaction bigint) LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM channels_adopt();
        PERFORM pg_advisory_lock(own);
        INSERT INTO channels_sessions (token, process) VALUES (own, process);
        RETURN QUERY SELECT system_identifier::text, pg_current_xact_id()::text::bigint FROM pg_control_system();
    END $$;

-- Transactions of another cluster, out of whose dump the tables came, mean nothing in this one: everything is distributed
-- as the snapshots say, and is old from then on.
CREATE FUNCTION channels_adopt() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF (SELECT s.system = c.system_identifier::text FROM channels_schema s, pg_control_system() c) THEN RETURN; END IF;
        LOCK TABLE channels_messages, channels_names IN SHARE ROW EXCLUSIVE MODE;
        PERFORM channels_distribute(id) FROM channels_names;
        UPDATE channels_messages SET xid = '3';
        UPDATE channels_values SET xid = '3';
        UPDATE channels_names SET seen = pg_current_snapshot();
        UPDATE channels_schema SET system = (SELECT system_identifier FROM pg_control_system());
    END $$;

-- Gives back what a session holds. What a listener's transaction is settling comes later.
CREATE FUNCTION channels_release(ended bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE channels_unsettled u SET holder = NULL FROM (SELECT number, name FROM channels_unsettled
            WHERE holder = ended FOR UPDATE SKIP LOCKED) f WHERE u.number = f.number AND u.name = f.name;
        IF FOUND THEN PERFORM pg_notify('channels', ''); END IF;
        DELETE FROM channels_sessions WHERE token = ended
            AND NOT EXISTS (SELECT FROM channels_unsettled WHERE holder = ended);
    END $$;

-- Gives back what sessions hold that have ended, and removes what nobody waits for. The times are in seconds. Returns the
-- newest transaction of a durable message.
CREATE FUNCTION channels_poll(own bigint, plain float8, durable float8) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE newest bigint := (SELECT xid::text::bigint FROM channels_messages ORDER BY xid DESC LIMIT 1);
    BEGIN
        PERFORM set_config('synchronous_commit', 'off', true);
        PERFORM channels_release(ended.token) FROM (SELECT token FROM channels_sessions WHERE token <> own OFFSET 0) AS ended
            WHERE pg_try_advisory_xact_lock(ended.token);
        IF NOT pg_try_advisory_xact_lock(7021803) THEN RETURN newest; END IF;
        DELETE FROM channels_plain WHERE time < clock_timestamp() - plain * interval '1 second';
        DELETE FROM channels_messages m WHERE number IN (SELECT number FROM channels_messages
                WHERE time < clock_timestamp() - durable * interval '1 second' ORDER BY time LIMIT 1000)
            AND NOT EXISTS (SELECT FROM channels_unsettled u WHERE u.number = m.number)
            AND NOT EXISTS (SELECT FROM channels_names n WHERE NOT pg_visible_in_snapshot(m.xid, n.seen));
        RETURN newest;
    END $$;

-- MARK: One by one

CREATE FUNCTION channels_count(name text, pattern text) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE who bigint := (SELECT id FROM channels_names n WHERE n.name = $1 AND n.pattern = $2);
    BEGIN
        PERFORM channels_distribute(who);
        RETURN (SELECT count(*) FROM channels_unsettled u WHERE u.name = who);
    END $$;
CREATE FUNCTION channels_stored(after bigint, pattern text, most int)
    RETURNS TABLE (number bigint, stored float8, subject text, headers text, body bytea) LANGUAGE sql AS $$
    SELECT m.number, extract(epoch FROM m.time)::float8, m.subject, m.headers, m.body FROM channels_messages m
    WHERE m.number > $1 AND m.subject ~ channels_expression($2) ORDER BY m.number LIMIT $3 $$;
