-- The bank of all machines: how much of every quota is out, and who holds it. See src/limits/quota-bank.ts.
--
-- An account is a quota. `settled` and `leased` together never exceed its capacity. What was spent beyond the capacity,
-- because a call cost more than was set aside for it or a limit was lowered below what was spent, stands in
-- `overspent`; leases that are out beyond a lowered limit, and are called in, stand in `withdrawn`. A grant adds to
-- `leased` only, so that the constraint refuses one that there is no room for, whatever the code says.
--
-- Every function locks accounts in the order of their names, and an account before its leases.

CREATE TABLE sluice.bank_accounts (
  name text PRIMARY KEY,
  -- money: settled by the ledger; window: void when it ends; slots: given back, and free when their holder is dead
  kind text NOT NULL CHECK (kind IN ('money', 'window', 'slots')),
  capacity bigint NOT NULL CHECK (capacity >= 0),
  -- of the record that the capacity was read from, as soon as all that was spent before it counts
  version bigint NOT NULL DEFAULT -1,
  settled bigint NOT NULL DEFAULT 0 CHECK (settled >= 0),
  leased bigint NOT NULL DEFAULT 0 CHECK (leased >= 0),
  overspent bigint NOT NULL DEFAULT 0 CHECK (overspent >= 0),
  withdrawn bigint NOT NULL DEFAULT 0 CHECK (withdrawn >= 0),
  window_id bigint NOT NULL DEFAULT 0,
  ends_at timestamptz NOT NULL DEFAULT '-infinity',
  -- number of the last call-in
  call bigint NOT NULL DEFAULT 0,
  called_at timestamptz NOT NULL DEFAULT '-infinity',
  used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT within_the_limit CHECK (settled + leased <= capacity)
) WITH (fillfactor = 50);

CREATE INDEX bank_accounts_called ON sluice.bank_accounts (called_at) WHERE called_at > '-infinity';

-- What a machine may spend. Epoch 0: of earlier runs of the machine, until their journals are taken in.
CREATE TABLE sluice.bank_leases (
  account text NOT NULL REFERENCES sluice.bank_accounts ON DELETE CASCADE,
  machine text NOT NULL,
  epoch bigint NOT NULL,
  -- all that it has drawn and not given back
  drawn bigint NOT NULL CHECK (drawn >= 0),
  -- of that, what the ledger has seen spent
  spent bigint NOT NULL DEFAULT 0 CHECK (spent >= 0),
  -- of that, what `settled` of the account has in it: the rest is added when the machine draws the next time, so that
  -- machines that write their ledgers do not wait for each other at the account that all of them share
  folded bigint NOT NULL DEFAULT 0 CHECK (folded >= 0),
  -- number of the machine's last statement, and of the last call-in that it has answered
  seq bigint NOT NULL DEFAULT 0,
  answered bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account, machine, epoch),
  CONSTRAINT spent_of_drawn CHECK (folded <= spent AND spent <= drawn)
) WITH (fillfactor = 50);

CREATE INDEX bank_leases_machine ON sluice.bank_leases (machine);

-- Token buckets of client addresses. One that is missing is full.
CREATE TABLE sluice.bank_buckets (
  name text PRIMARY KEY,
  level double precision NOT NULL,
  refilled_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- What an account holds when so much has been spent of it and so much is out.
CREATE FUNCTION sluice.bank_balanced(a sluice.bank_accounts, total bigint, outstanding bigint)
RETURNS sluice.bank_accounts LANGUAGE plpgsql AS $$
BEGIN
  a.settled := least(total, a.capacity);
  a.overspent := total - a.settled;
  a.leased := least(outstanding, a.capacity - a.settled);
  a.withdrawn := outstanding - a.leased;
  RETURN a;
END $$;

CREATE FUNCTION sluice.bank_store(a sluice.bank_accounts) RETURNS void LANGUAGE sql AS $$
  UPDATE sluice.bank_accounts SET capacity = a.capacity, version = a.version, settled = a.settled,
    leased = a.leased, overspent = a.overspent, withdrawn = a.withdrawn, window_id = a.window_id,
    ends_at = a.ends_at, call = a.call, called_at = a.called_at, used_at = clock_timestamp()
  WHERE name = a.name
$$;

CREATE FUNCTION sluice.bank_is_live(p_machine text, p_epoch bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM sluice.machines WHERE name = p_machine AND epoch = p_epoch AND state IN ('joining', 'live'));
END $$;

-- The record that sets the limit of a quota, and the limit itself. `version` is null where no record sets it, `capacity`
-- where it sets none now.
CREATE FUNCTION sluice.bank_limit(p_name text, p_known bigint)
RETURNS TABLE (version bigint, capacity bigint) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  letter text := substr(p_name, 1, CASE WHEN p_name LIKE '$%' THEN 2 ELSE 1 END);
  id text := split_part(substr(p_name, length(letter) + 1), ' ', 1);
  content bytea;
  field text[];
BEGIN
  IF letter = '$o' THEN
    SELECT r.version, r.value INTO version, content FROM sluice.records r
    WHERE r.space = 'account-organizations' AND r.key = convert_to(id, 'UTF8');
  ELSIF letter IN ('$k', 'c', 'r', 't') AND id ~ '^([0-9a-f]{2})+$' THEN
    SELECT r.version, r.value INTO version, content FROM sluice.records r
    WHERE r.space = 'account-keys' AND r.key = decode(id, 'hex');
  END IF;
  -- Parsed only when it is another one than before.
  IF version <> p_known AND content IS NOT NULL THEN
    field := CASE letter WHEN '$o' THEN '{credits}' WHEN '$k' THEN '{limit}' WHEN 'c' THEN '{rateLimit,concurrent}'
      WHEN 'r' THEN '{rateLimit,requestsPerMinute}' ELSE '{rateLimit,tokensPerMinute}' END;
    capacity := (sluice.ledger_detail(convert_from(content, 'UTF8')) #>> field)::numeric;
  END IF;
  RETURN NEXT;
END $$;

-- Opens accounts that are not known yet, with what the ledger has seen spent of them. The ledger is kept out meanwhile
-- (see sluice.settle): what it takes in before is read here, and what it takes in after meets the account.
CREATE FUNCTION sluice.bank_open(p_items json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM json_to_recordset(p_items) AS i(name text, capacity bigint)
    WHERE i.capacity >= 0 AND NOT EXISTS (SELECT FROM sluice.bank_accounts a WHERE a.name = i.name)
  ) THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(7310525, 5);
  INSERT INTO sluice.bank_accounts (name, kind, capacity, settled, overspent)
  SELECT i.name, i.kind, i.capacity, least(i.total, i.capacity), i.total - least(i.total, i.capacity)
  FROM (
    SELECT DISTINCT ON (n.name) n.name, n.capacity,
      CASE WHEN n.name LIKE '$%' THEN 'money' WHEN n.window_ms > 0 THEN 'window' ELSE 'slots' END AS kind,
      CASE WHEN n.name LIKE '$%'
        THEN sluice.spent(split_part(substr(n.name, 2), ' ', 1), split_part(substr(n.name, 2), ' ', 2))
        ELSE 0 END AS total
    FROM json_to_recordset(p_items) AS n(name text, capacity bigint, window_ms double precision)
    WHERE n.capacity >= 0 AND NOT EXISTS (SELECT FROM sluice.bank_accounts a WHERE a.name = n.name)
    ORDER BY n.name
  ) i
  ON CONFLICT (name) DO NOTHING;
END $$;

-- One statement of a machine, for any number of quotas: what it holds from now on (`held`; -1 when it knows nothing of
-- the quota), what it has used beyond that (`owed`), and what it wants. `least`: less than that is of no use to it.
-- `target`: the lease that it would like. `call`: the call-in that it waits for, or 0; `answered`: the one that it
-- answers, or 0. `flushed`: all machines have brought in what they had answered when they had that version of the
-- record. No rows when the machine is fenced. A statement that comes later than its successor changes nothing.
--
-- The limit is that of the record as it is now; `capacity` counts only where no record sets one (-1: it is not known).
-- When the record has just been changed, calls may have been answered without a limit that no ledger knows of. They
-- have to be brought in before anything is granted; until all machines have the change, nothing is granted in advance.
--
-- state: ok · called (others were asked to give back; ask again with that call) · short (there is no more than `room`) ·
-- flush (have all machines bring in what they have answered, and ask again with `flushed` = `version`) · void (the lease
-- is no longer known here) · stale. `room` is below 0 when more is out than the limit.
CREATE FUNCTION sluice.bank(p_machine text, p_epoch bigint, p_seq bigint, p_live integer, p_items json)
RETURNS TABLE (
  name text, state text, held bigint, room bigint, window_id bigint, ends_in_ms double precision, call bigint, version bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  i record;
  a sluice.bank_accounts;
  l sluice.bank_leases;
  limits record;
  careful boolean;
  moment timestamptz;
  total bigint;
  outstanding bigint;
  freed bigint;
  granted bigint;
BEGIN
  -- A machine takes its name anew by changing the epoch, which waits for this lock: nothing of the epoch before comes
  -- after that.
  PERFORM FROM sluice.machines m
  WHERE m.name = p_machine AND m.epoch = p_epoch AND m.state IN ('joining', 'live') FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM sluice.bank_open(p_items);
  FOR i IN
    SELECT * FROM json_to_recordset(p_items) AS q(
      name text, capacity bigint, window_ms double precision, flushed bigint, held bigint, owed bigint,
      window_id bigint, wanted bigint, least bigint, target bigint, call bigint, answered bigint)
    ORDER BY q.name COLLATE "C"
  LOOP
    SELECT * INTO a FROM sluice.bank_accounts b WHERE b.name = i.name FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    moment := clock_timestamp();
    IF a.kind = 'window' AND a.ends_at <= moment AND i.wanted > 0 THEN
      DELETE FROM sluice.bank_leases b WHERE b.account = i.name;
      a := sluice.bank_balanced(a, 0, 0);
      a.window_id := a.window_id + 1;
      a.ends_at := moment + make_interval(secs => i.window_ms / 1000);
    END IF;
    SELECT * INTO l FROM sluice.bank_leases b
    WHERE b.account = i.name AND b.machine = p_machine AND b.epoch = p_epoch FOR UPDATE;
    IF FOUND THEN
      IF l.seq >= p_seq THEN
        RETURN QUERY SELECT i.name, 'stale', l.drawn, 0::bigint, a.window_id, 0::double precision, 0::bigint, 0::bigint;
        CONTINUE;
      END IF;
    ELSE
      IF i.held > 0 AND (a.kind <> 'window' OR i.window_id = a.window_id) THEN
        RETURN QUERY SELECT i.name, 'void', 0::bigint, 0::bigint, a.window_id, 0::double precision, 0::bigint, 0::bigint;
        CONTINUE;
      END IF;
      l.drawn := 0; l.spent := 0; l.folded := 0; l.answered := 0;
    END IF;
    -- What it held of another window is no part of this one.
    IF a.kind = 'window' AND i.window_id <> a.window_id THEN i.held := -1; END IF;
    -- What the ledger has seen of the lease, and what the machine does not hold of it any more.
    freed := l.drawn - greatest(i.held, l.spent);
    IF i.held >= 0 AND freed < 0 THEN
      RETURN QUERY SELECT i.name, 'void', 0::bigint, 0::bigint, a.window_id, 0::double precision, 0::bigint, 0::bigint;
      CONTINUE;
    END IF;
    total := a.settled + a.overspent + l.spent - l.folded;
    outstanding := a.leased + a.withdrawn - (l.spent - l.folded) - freed;
    l.drawn := l.drawn - freed;
    l.folded := l.spent;
    IF i.held < 0 THEN
      l.drawn := 0; l.spent := 0; l.folded := 0;
    END IF;
    -- Used already: it counts, whether there is room or not.
    l.drawn := l.drawn + i.owed;
    outstanding := outstanding + i.owed;
    SELECT * INTO limits FROM sluice.bank_limit(i.name, a.version);
    careful := false;
    IF limits.version IS NULL THEN
      IF i.capacity >= 0 THEN a.capacity := i.capacity; END IF;
    ELSIF limits.version <> a.version THEN
      a.capacity := coalesce(limits.capacity, nullif(i.capacity, -1), a.capacity);
      careful := a.kind = 'money' AND i.flushed <> limits.version AND EXISTS (
        SELECT FROM sluice.changes c
        WHERE c.version = limits.version AND c.at > moment - interval '30 seconds');
      IF NOT careful THEN a.version := limits.version; END IF;
    END IF;
    a := sluice.bank_balanced(a, total, outstanding);
    l.answered := greatest(l.answered, i.answered);
    IF i.answered > 0 THEN
      PERFORM pg_notify('sluice', 'answered ' || i.name);
    END IF;
    state := 'ok';
    granted := 0;
    IF careful THEN i.target := 0; END IF;
    IF i.wanted > 0 AND careful AND NOT EXISTS (
      SELECT FROM sluice.machines m WHERE m.state = 'live' AND m.applied < limits.version
    ) THEN
      state := 'flush';
    ELSIF i.wanted > 0 THEN
      room := a.capacity - a.settled - a.leased;
      IF room < i.wanted AND a.kind = 'slots' THEN
        -- Nobody knows of calls of the dead; a place among the calls costs nothing but itself.
        WITH dead AS (
          DELETE FROM sluice.bank_leases b
          WHERE b.account = i.name AND b.machine <> p_machine AND NOT sluice.bank_is_live(b.machine, b.epoch)
          RETURNING b.drawn - b.folded AS amount
        ) SELECT coalesce(sum(amount), 0) INTO freed FROM dead;
        a := sluice.bank_balanced(a, a.settled + a.overspent, a.leased + a.withdrawn - freed);
        room := a.capacity - a.settled - a.leased;
      END IF;
      IF room >= i.wanted THEN
        granted := least(room, greatest(i.wanted, least(i.target, room / (2 * greatest(p_live, 1)))));
        -- More than it needs now: who calls in next has to ask again.
        IF granted > i.wanted THEN l.answered := 0; END IF;
      ELSIF EXISTS (
        SELECT FROM sluice.bank_leases b
        WHERE b.account = i.name AND b.machine <> p_machine AND b.drawn > b.spent
          AND (i.call = 0 OR b.answered < i.call) AND sluice.bank_is_live(b.machine, b.epoch)
      ) THEN
        state := 'called';
        -- Those who ask at about the same time share a call.
        IF a.called_at <= moment - make_interval(secs => CASE WHEN i.call = 0 THEN 0.02 ELSE 0.2 END) THEN
          IF i.call = 0 THEN a.call := a.call + 1; END IF;
          a.called_at := moment;
          PERFORM pg_notify('sluice', 'called ' || a.call || ' ' || i.name);
        END IF;
      ELSE
        state := 'short';
        IF room >= i.least THEN granted := room; END IF;
      END IF;
    ELSIF i.target > 0 AND (a.kind <> 'window' OR a.ends_at > moment) THEN
      granted := greatest(0, least(i.target, (a.capacity - a.settled - a.leased) / (2 * greatest(p_live, 1))));
      IF granted > 0 THEN l.answered := 0; END IF;
    END IF;
    l.drawn := l.drawn + granted;
    a.leased := a.leased + granted;
    PERFORM sluice.bank_store(a);
    INSERT INTO sluice.bank_leases AS b (account, machine, epoch, drawn, spent, folded, seq, answered)
    VALUES (i.name, p_machine, p_epoch, l.drawn, l.spent, l.folded, p_seq, l.answered)
    ON CONFLICT (account, machine, epoch) DO UPDATE SET drawn = excluded.drawn, spent = excluded.spent,
      folded = excluded.folded, seq = excluded.seq, answered = excluded.answered;
    RETURN QUERY SELECT i.name, state, l.drawn,
      a.capacity - a.settled - a.leased - a.overspent - a.withdrawn, a.window_id,
      CASE WHEN a.kind = 'window' THEN 1000 * extract(epoch FROM greatest(a.ends_at, moment) - moment)::double precision
        ELSE 0 END,
      CASE WHEN i.call > 0 THEN i.call ELSE a.call END, limits.version;
  END LOOP;
END $$;

-- Moves what the ledger takes in from leased to settled; part of the statement that takes it in. `p_epoch` 0: of
-- journals of earlier runs. What was spent beyond a lease, or without one, is settled all the same.
DROP FUNCTION IF EXISTS sluice.settle(text, bigint, text[], bigint[], boolean[]);

CREATE FUNCTION sluice.settle(
  p_machine text, p_epoch bigint, p_names text[], p_amounts bigint[], p_leased boolean[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  i record;
  a sluice.bank_accounts;
  l sluice.bank_leases;
  beyond bigint;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7310525, 5);
  FOR i IN
    SELECT q.name, coalesce(sum(q.amount) FILTER (WHERE q.leased), 0)::bigint AS leased,
      coalesce(sum(q.amount) FILTER (WHERE NOT q.leased), 0)::bigint AS free
    FROM unnest(p_names, p_amounts, p_leased) AS q(name, amount, leased)
    GROUP BY q.name ORDER BY q.name COLLATE "C"
  LOOP
    beyond := i.free;
    IF i.free > 0 THEN
      PERFORM FROM sluice.bank_accounts b WHERE b.name = i.name FOR UPDATE;
    END IF;
    IF i.leased > 0 THEN
      -- Of that epoch; of the one before where the machine has just joined again; of epoch 0 where it was begun anew.
      UPDATE sluice.bank_leases b SET spent = b.spent + i.leased
      WHERE b.account = i.name AND b.machine = p_machine AND b.drawn - b.spent >= i.leased AND b.epoch = (
        SELECT max(o.epoch) FROM sluice.bank_leases o
        WHERE o.account = i.name AND o.machine = p_machine AND o.epoch <= p_epoch);
      IF NOT FOUND THEN
        SELECT * INTO a FROM sluice.bank_accounts b WHERE b.name = i.name FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        SELECT * INTO l FROM sluice.bank_leases b
        WHERE b.account = i.name AND b.machine = p_machine AND b.epoch <= p_epoch
        ORDER BY b.epoch DESC LIMIT 1 FOR UPDATE;
        IF FOUND THEN
          beyond := beyond + greatest(0, i.leased - (l.drawn - l.spent));
          UPDATE sluice.bank_leases b SET spent = l.spent + i.leased,
            drawn = greatest(l.drawn, l.spent + i.leased),
            folded = l.folded + greatest(0, i.leased - (l.drawn - l.spent))
          WHERE b.account = i.name AND b.machine = p_machine AND b.epoch = l.epoch;
        ELSE
          beyond := beyond + i.leased;
        END IF;
      END IF;
    END IF;
    IF beyond > 0 THEN
      SELECT * INTO a FROM sluice.bank_accounts b WHERE b.name = i.name FOR UPDATE;
      CONTINUE WHEN NOT FOUND;
      PERFORM sluice.bank_store(
        sluice.bank_balanced(a, a.settled + a.overspent + beyond, a.leased + a.withdrawn));
    END IF;
  END LOOP;
END $$;

-- Ends leases of a machine: what the ledger has seen spent of them stays settled, the rest is free.
CREATE FUNCTION sluice.bank_release(p_machine text, p_kinds text[], p_earlier boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  a sluice.bank_accounts;
  gone record;
BEGIN
  FOR a IN
    SELECT b.* FROM sluice.bank_accounts b
    WHERE b.kind = ANY (p_kinds) AND EXISTS (
      SELECT FROM sluice.bank_leases l
      WHERE l.account = b.name AND l.machine = p_machine AND (l.epoch = 0 OR NOT p_earlier))
    ORDER BY b.name COLLATE "C" FOR UPDATE
  LOOP
    WITH ended AS (
      DELETE FROM sluice.bank_leases l
      WHERE l.account = a.name AND l.machine = p_machine AND (l.epoch = 0 OR NOT p_earlier)
      RETURNING l.spent - l.folded AS spent, l.drawn - l.folded AS outstanding
    ) SELECT coalesce(sum(spent), 0)::bigint AS spent, coalesce(sum(outstanding), 0)::bigint AS outstanding
      INTO gone FROM ended;
    PERFORM sluice.bank_store(sluice.bank_balanced(
      a, a.settled + a.overspent + gone.spent, a.leased + a.withdrawn - gone.outstanding));
  END LOOP;
END $$;

-- `sluice fleet forget`: nothing that the machine holds counts any more.
CREATE FUNCTION sluice.void_leases(p_machine text) RETURNS void LANGUAGE sql AS $$
  SELECT sluice.bank_release(p_machine, ARRAY['money', 'window', 'slots'], false)
$$;

-- A machine has been started anew: what its earlier runs hold stays counted until their journals are taken in. Their
-- calls are over.
CREATE FUNCTION sluice.bank_retire(p_machine text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  sums record;
BEGIN
  PERFORM sluice.bank_release(p_machine, ARRAY['slots'], false);
  PERFORM FROM sluice.bank_accounts b
  WHERE EXISTS (SELECT FROM sluice.bank_leases l WHERE l.account = b.name AND l.machine = p_machine)
  ORDER BY b.name COLLATE "C" FOR UPDATE;
  FOR sums IN
    WITH ended AS (
      DELETE FROM sluice.bank_leases l WHERE l.machine = p_machine
      RETURNING l.account, l.drawn, l.spent, l.folded
    ) SELECT e.account, sum(e.drawn) AS drawn, sum(e.spent) AS spent, sum(e.folded) AS folded
      FROM ended e GROUP BY e.account
  LOOP
    INSERT INTO sluice.bank_leases (account, machine, epoch, drawn, spent, folded)
    VALUES (sums.account, p_machine, 0, sums.drawn, sums.spent, sums.folded);
  END LOOP;
END $$;

-- All journals of earlier runs are taken in.
CREATE FUNCTION sluice.bank_free(p_machine text) RETURNS void LANGUAGE sql AS $$
  SELECT sluice.bank_release(p_machine, ARRAY['money'], true)
$$;

-- The same processes have joined again under a new epoch: they still hold what nobody has declared void.
CREATE FUNCTION sluice.bank_adopt(p_machine text, p_epoch bigint) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sluice.bank_leases l SET epoch = p_epoch WHERE l.machine = p_machine AND l.epoch NOT IN (0, p_epoch);
  RETURN QUERY SELECT l.account FROM sluice.bank_leases l WHERE l.machine = p_machine AND l.epoch = p_epoch;
END $$;

-- Call-ins that a machine has not answered: 'NUMBER NAME'.
CREATE FUNCTION sluice.called_in(p_machine text, p_epoch bigint) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(a.call || ' ' || a.name), '{}')
  FROM sluice.bank_accounts a JOIN sluice.bank_leases l ON l.account = a.name
  WHERE a.called_at > clock_timestamp() - interval '5 seconds'
    AND l.machine = p_machine AND l.epoch = p_epoch AND l.answered < a.call AND l.drawn > l.spent
$$;

-- Whether money is out that only the journals of that machine can account for.
CREATE FUNCTION sluice.has_open_leases(p_machine text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM sluice.bank_leases l JOIN sluice.bank_accounts a ON a.name = l.account
    WHERE l.machine = p_machine AND l.drawn > l.spent AND a.kind = 'money')
$$;

-- Takes tokens out of buckets: those that are wanted, and a few in advance.
CREATE FUNCTION sluice.bank_tokens(p_items json)
RETURNS TABLE (name text, granted bigint, level double precision) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  i record;
  b sluice.bank_buckets;
  moment timestamptz;
BEGIN
  FOR i IN
    SELECT * FROM json_to_recordset(p_items) AS q(
      name text, capacity double precision, refill_per_ms double precision, wanted bigint)
    ORDER BY q.name COLLATE "C"
  LOOP
    INSERT INTO sluice.bank_buckets (name, level, refilled_at)
    VALUES (i.name, i.capacity, clock_timestamp()) ON CONFLICT DO NOTHING;
    SELECT * INTO b FROM sluice.bank_buckets k WHERE k.name = i.name FOR UPDATE;
    moment := greatest(clock_timestamp(), b.refilled_at);
    b.level := least(i.capacity,
      b.level + 1000 * extract(epoch FROM moment - b.refilled_at)::double precision * i.refill_per_ms);
    granted := least(floor(b.level), i.wanted + greatest(0, floor((b.level - i.wanted) / 32)));
    UPDATE sluice.bank_buckets k SET level = b.level - granted, refilled_at = moment WHERE k.name = i.name;
    name := i.name;
    level := b.level - granted;
    RETURN NEXT;
  END LOOP;
END $$;

-- Removes some of what nothing reads any more: windows that are over, and accounts and buckets not used for long. What
-- was spent of an account stands in the ledger.
CREATE FUNCTION sluice.bank_prune() RETURNS void LANGUAGE sql AS $$
  DELETE FROM sluice.bank_accounts WHERE name IN (
    SELECT a.name FROM sluice.bank_accounts a
    WHERE (a.kind = 'window' AND a.ends_at < clock_timestamp() - interval '1 hour')
      OR (a.used_at < clock_timestamp() - interval '2 days' AND NOT EXISTS (
        SELECT FROM sluice.bank_leases l WHERE l.account = a.name AND l.drawn > l.spent))
    LIMIT 1000 FOR UPDATE SKIP LOCKED);
  DELETE FROM sluice.bank_buckets WHERE name IN (
    SELECT k.name FROM sluice.bank_buckets k WHERE k.refilled_at < clock_timestamp() - interval '1 hour'
    LIMIT 1000 FOR UPDATE SKIP LOCKED);
$$;

-- For operators. Amounts as they are now, what machines have not reported yet included.
CREATE VIEW sluice.bank_balances AS
SELECT a.name, a.kind, a.capacity, b.settled, b.leased, b.overspent, b.withdrawn
FROM sluice.bank_accounts a
LEFT JOIN (
  SELECT account, sum(spent - folded)::bigint AS spent FROM sluice.bank_leases GROUP BY account
) l ON l.account = a.name
CROSS JOIN LATERAL sluice.bank_balanced(
  a, a.settled + a.overspent + coalesce(l.spent, 0), a.leased + a.withdrawn - coalesce(l.spent, 0)) b;

CREATE VIEW sluice.bank_holdings AS
SELECT l.machine, l.epoch, l.account, a.kind, l.drawn - l.spent AS amount,
  NOT sluice.bank_is_live(l.machine, l.epoch) AS frozen
FROM sluice.bank_leases l JOIN sluice.bank_accounts a ON a.name = l.account
WHERE l.drawn > l.spent AND (a.kind <> 'window' OR a.ends_at > clock_timestamp());
