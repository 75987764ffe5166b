-- The ledger that all machines share: rows as they are taken out of the journals, what they come to by hour and by
-- payer, and how far each journal has been taken. Money is in nano-dollars (a dollar is 1,000,000,000).

-- How far a journal has been taken. A journal lies in the data folder of its machine, so no other machine ever takes it
-- over: the identity of the folder is part of its name here. A machine may get another name, or be forgotten and come
-- back; what was taken out of its folder stays taken.
CREATE TABLE sluice.ledger_journals (
  folder text COLLATE "C" NOT NULL,
  journal text COLLATE "C" NOT NULL,
  segment bigint NOT NULL DEFAULT 0,
  position bigint NOT NULL DEFAULT 0,
  done boolean NOT NULL DEFAULT false,
  -- Its files are gone. One that is done and whose files were not seen to go may come back with its disk.
  removed boolean NOT NULL DEFAULT false,
  taken_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (folder, journal)
) WITH (fillfactor = 50);

-- Calls that were dispatched and are not over: the lines of their payer and of their dispatch.
CREATE TABLE sluice.ledger_open_calls (
  folder text COLLATE "C" NOT NULL,
  journal text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  lines text NOT NULL,
  PRIMARY KEY (folder, journal, id)
);

-- One row for each call, for each part of a call that has parts (turns and tools, which carry its money), and for each
-- attempt that came to nothing ("lost", charged to nobody). One partition for each UTC day of dispatch.
CREATE TABLE sluice.ledger_rows (
  begun_at timestamptz NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  machine text NOT NULL,
  place bigint NOT NULL,
  key_hash text NOT NULL,
  organization_id text NOT NULL,
  workspace_id text,
  model text NOT NULL,
  provider text NOT NULL,
  api text NOT NULL,
  outcome text NOT NULL,
  fault text,
  coverage smallint NOT NULL,
  cost bigint NOT NULL,
  upstream_cost bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  duration_ms bigint NOT NULL,
  detail text NOT NULL
) PARTITION BY RANGE (begun_at);
CREATE INDEX ledger_rows_id ON sluice.ledger_rows (id);

COMMENT ON COLUMN sluice.ledger_rows.kind IS 'call, part or lost; only calls are counted as calls, and lost ones cost nothing';
COMMENT ON COLUMN sluice.ledger_rows.place IS 'order of the rows of one journal';
COMMENT ON COLUMN sluice.ledger_rows.upstream_cost IS 'of a lost attempt: what the provider is reckoned to ask for it';
COMMENT ON COLUMN sluice.ledger_rows.detail IS 'the rest of the row as a JSON array; the view sluice.ledger names what is asked for most';

-- Callers choose some of its texts: escapes that PostgreSQL does not take must not make a row unreadable.
CREATE FUNCTION sluice.ledger_detail(detail text) RETURNS json LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT regexp_replace(detail, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::json
$$;

-- Rows that the table above refuses, which no row of ours should be: they must not keep all others from the ledger. What
-- they cost is in the sums all the same.
CREATE TABLE sluice.ledger_refused (
  machine text NOT NULL,
  refused_at timestamptz NOT NULL DEFAULT now(),
  reason text NOT NULL,
  content json NOT NULL
);

-- For operators. The members of `detail` that are asked for most have names.
CREATE VIEW sluice.ledger AS
  SELECT begun_at, id, kind, machine, key_hash, organization_id, workspace_id, model, provider, api, outcome, fault,
    cost / 1e9 AS dollars, upstream_cost / 1e9 AS upstream_dollars, prompt_tokens, completion_tokens, duration_ms,
    CASE WHEN kind <> 'lost' THEN d.detail ->> 5 = '1' END AS streamed,
    CASE WHEN kind <> 'lost' THEN (d.detail ->> 6)::numeric END AS attempts,
    CASE WHEN kind <> 'lost' THEN (d.detail ->> 8)::numeric END AS first_event_ms,
    CASE WHEN kind <> 'lost' THEN d.detail -> 0 END AS units,
    d.detail
  FROM sluice.ledger_rows r, LATERAL (SELECT sluice.ledger_detail(r.detail) AS detail) d;

-- What the calls of an hour came to, by key and by the limits that they were reserved from (`coverage`).
CREATE TABLE sluice.ledger_hours (
  hour timestamptz NOT NULL,
  key_hash text COLLATE "C" NOT NULL,
  organization_id text COLLATE "C" NOT NULL,
  coverage smallint NOT NULL,
  cost bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  calls bigint NOT NULL,
  PRIMARY KEY (hour, key_hash, organization_id, coverage)
) WITH (fillfactor = 50);

-- What a payer ('k' and the hash of a key, 'o' and the id of an organization) has spent in all ('never') and in a
-- period ('daily20780', days since 1970; likewise weekly and monthly).
CREATE TABLE sluice.ledger_sums (
  payer text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  cost bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  calls bigint NOT NULL,
  PRIMARY KEY (payer, period)
) WITH (fillfactor = 50);
-- For their end: see sluice.keep_ledger.
CREATE INDEX ledger_sums_period ON sluice.ledger_sums (period);

CREATE FUNCTION sluice.spent(payer text, period text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce((SELECT s.cost FROM sluice.ledger_sums s WHERE s.payer = $1 AND s.period = $2), 0)
$$;

-- Makes the partition of a day (days since 1970) where it is missing. Attaching a table of its own does not keep
-- others from reading and writing the ledger meanwhile, as creating a partition would.
CREATE FUNCTION sluice.make_ledger_day(day bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  begins date := DATE 'epoch' + day::int;
  name text := 'ledger_rows_' || to_char(begins, 'YYYYMMDD');
BEGIN
  IF to_regclass('sluice.' || name) IS NOT NULL THEN RETURN; END IF;
  -- Two machines may meet the first row of a day in one moment.
  PERFORM pg_advisory_xact_lock(hashtextextended('sluice.ledger-days', 0));
  -- to_regclass may answer from a cache that has not heard yet of what was made while this one waited.
  PERFORM 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'sluice' AND c.relname = name;
  IF FOUND THEN RETURN; END IF;
  EXECUTE format('CREATE TABLE sluice.%I (LIKE sluice.ledger_rows INCLUDING DEFAULTS)', name);
  EXECUTE format(
    'ALTER TABLE sluice.ledger_rows ATTACH PARTITION sluice.%I FOR VALUES FROM (%L) TO (%L)',
    name, begins || ' 00:00:00+00', (begins + 1) || ' 00:00:00+00'
  );
END $$;

-- What rows have in common comes once, as a kind of rows: `row_kinds` says which of them a row is, counted from 1. The
-- place of a row is that of its kind and its number among all rows. Texts hold a value per line, because they need no
-- quoting so.
CREATE FUNCTION sluice.ledger_rows_of(
  of_machine text,
  row_details text, row_ids text, row_begun bigint[], row_kinds bigint[], row_costs bigint[], row_prompts bigint[],
  row_completions bigint[], row_durations bigint[], kind_keys text, kind_organizations text, kind_workspaces text,
  kind_names text, kind_models text, kind_providers text, kind_apis text, kind_outcomes text, kind_faults text,
  kind_coverages bigint[], kind_places bigint[]
) RETURNS SETOF sluice.ledger_rows LANGUAGE sql STABLE AS $$
  SELECT timestamptz 'epoch' + r.begun * interval '1 millisecond', r.id, k.kind, of_machine, k.place + r.number,
    k.key_hash, k.organization, k.workspace, coalesce(k.model, ''), coalesce(k.provider, ''), coalesce(k.api, ''),
    k.outcome, k.fault, k.coverage, CASE WHEN k.kind = 'lost' THEN 0 ELSE r.cost END,
    CASE WHEN k.kind = 'lost' THEN r.cost ELSE 0 END, r.prompt, r.completion, r.duration, r.detail
  FROM unnest(
    string_to_array(row_details, E'\n'), string_to_array(row_ids, E'\n'), row_begun, row_kinds, row_costs, row_prompts,
    row_completions, row_durations
  ) WITH ORDINALITY AS r (detail, id, begun, of_kind, cost, prompt, completion, duration, number)
  JOIN unnest(
    string_to_array(kind_keys, E'\n'), string_to_array(kind_organizations, E'\n'),
    string_to_array(kind_workspaces, E'\n', ''), string_to_array(kind_names, E'\n'),
    string_to_array(kind_models, E'\n', ''), string_to_array(kind_providers, E'\n', ''),
    string_to_array(kind_apis, E'\n', ''), string_to_array(kind_outcomes, E'\n'),
    string_to_array(kind_faults, E'\n', ''), kind_coverages::smallint[], kind_places
  ) WITH ORDINALITY AS k (
    key_hash, organization, workspace, kind, model, provider, api, outcome, fault, coverage, place, number
  ) ON k.number = r.of_kind
$$;

-- Answers how many rows were refused. They are looked for one by one when all together are.
CREATE FUNCTION sluice.put_ledger_rows(
  of_machine text,
  row_details text, row_ids text, row_begun bigint[], row_kinds bigint[], row_costs bigint[], row_prompts bigint[],
  row_completions bigint[], row_durations bigint[], kind_keys text, kind_organizations text, kind_workspaces text,
  kind_names text, kind_models text, kind_providers text, kind_apis text, kind_outcomes text, kind_faults text,
  kind_coverages bigint[], kind_places bigint[]
) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  day bigint;
  one sluice.ledger_rows;
  refused int := 0;
BEGIN
  BEGIN
    FOR day IN SELECT DISTINCT begun / 86400000 FROM unnest(row_begun) AS begun ORDER BY 1 LOOP
      PERFORM sluice.make_ledger_day(day);
    END LOOP;
    INSERT INTO sluice.ledger_rows SELECT * FROM sluice.ledger_rows_of(
      of_machine, row_details, row_ids, row_begun, row_kinds, row_costs, row_prompts, row_completions, row_durations,
      kind_keys, kind_organizations, kind_workspaces, kind_names, kind_models, kind_providers, kind_apis,
      kind_outcomes, kind_faults, kind_coverages, kind_places
    );
    RETURN 0;
  EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
    NULL;
  END;
  FOR one IN SELECT * FROM sluice.ledger_rows_of(
      of_machine, row_details, row_ids, row_begun, row_kinds, row_costs, row_prompts, row_completions, row_durations,
      kind_keys, kind_organizations, kind_workspaces, kind_names, kind_models, kind_providers, kind_apis,
      kind_outcomes, kind_faults, kind_coverages, kind_places
    ) ORDER BY begun_at
  LOOP
    BEGIN
      PERFORM sluice.make_ledger_day(floor(extract(epoch FROM one.begun_at) / 86400)::bigint);
      INSERT INTO sluice.ledger_rows SELECT one.*;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
      INSERT INTO sluice.ledger_refused (machine, reason, content) VALUES (of_machine, SQLERRM, to_json(one));
      refused := refused + 1;
    END;
  END LOOP;
  RETURN refused;
END $$;

CREATE FUNCTION sluice.put_ledger_hours(
  hour_numbers bigint[], hour_keys text[], hour_organizations text[], hour_coverages smallint[], hour_costs bigint[],
  hour_prompts bigint[], hour_completions bigint[], hour_calls bigint[]
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO sluice.ledger_hours AS known
    SELECT timestamptz 'epoch' + h.number * interval '1 hour', h.key_hash, h.organization, h.coverage, h.cost, h.prompt,
      h.completion, h.calls
    FROM unnest(
      hour_numbers, hour_keys, hour_organizations, hour_coverages, hour_costs, hour_prompts, hour_completions, hour_calls
    ) AS h (number, key_hash, organization, coverage, cost, prompt, completion, calls)
    ON CONFLICT (hour, key_hash, organization_id, coverage) DO UPDATE SET
      cost = known.cost + excluded.cost,
      prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = known.completion_tokens + excluded.completion_tokens,
      calls = known.calls + excluded.calls;
END $$;

CREATE FUNCTION sluice.put_ledger_sums(
  sum_payers text[], sum_periods text[], sum_costs bigint[], sum_prompts bigint[], sum_completions bigint[],
  sum_calls bigint[]
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO sluice.ledger_sums AS known
    SELECT * FROM unnest(sum_payers, sum_periods, sum_costs, sum_prompts, sum_completions, sum_calls)
    ON CONFLICT (payer, period) DO UPDATE SET
      cost = known.cost + excluded.cost,
      prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = known.completion_tokens + excluded.completion_tokens,
      calls = known.calls + excluded.calls;
END $$;

-- Takes pieces of journals of one machine, all of them or none, and answers how many rows were refused. Null when a
-- journal does not stand where its piece begins: a statement that was thought to have failed has taken it. Whatever several machines change
-- is in the order of its keys, so that they wait for each other and never in a circle. The bank's settlement comes
-- last, when the sums are what they will be.
CREATE FUNCTION sluice.take_journals(
  of_machine text, of_folder text, of_epoch bigint,
  journals text[], from_segments bigint[], from_positions bigint[], to_segments bigint[], to_positions bigint[],
  ends boolean[],
  row_details text, row_ids text, row_begun bigint[], row_kinds bigint[], row_costs bigint[], row_prompts bigint[],
  row_completions bigint[], row_durations bigint[], kind_keys text, kind_organizations text, kind_workspaces text,
  kind_names text, kind_models text, kind_providers text, kind_apis text, kind_outcomes text, kind_faults text,
  kind_coverages bigint[], kind_places bigint[],
  closed_journals text[], closed_ids text[], opened_journals text[], opened_ids text[], opened_lines text[],
  hour_numbers bigint[], hour_keys text[], hour_organizations text[], hour_coverages smallint[], hour_costs bigint[],
  hour_prompts bigint[], hour_completions bigint[], hour_calls bigint[],
  sum_payers text[], sum_periods text[], sum_costs bigint[], sum_prompts bigint[], sum_completions bigint[],
  sum_calls bigint[],
  quota_names text[], quota_amounts bigint[], quota_leased boolean[]
) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  standing bigint;
  refused int;
BEGIN
  -- An earlier statement of this folder's machine may still be under way: what it does with these is waited for.
  PERFORM 1 FROM sluice.ledger_journals j
    WHERE j.folder = of_folder AND j.journal = ANY (journals) ORDER BY j.journal FOR UPDATE;
  SELECT count(*) INTO standing
    FROM unnest(journals, from_segments, from_positions) AS p (journal, segment, position)
    JOIN sluice.ledger_journals j ON j.folder = of_folder AND j.journal = p.journal
    WHERE j.segment = p.segment AND j.position = p.position AND NOT j.done;
  IF standing <> cardinality(journals) THEN
    RETURN NULL;
  END IF;
  UPDATE sluice.ledger_journals j
    SET segment = p.segment, position = p.position, done = p.done, taken_at = now()
    FROM unnest(journals, to_segments, to_positions, ends) AS p (journal, segment, position, done)
    WHERE j.folder = of_folder AND j.journal = p.journal;

  refused := sluice.put_ledger_rows(
    of_machine, row_details, row_ids, row_begun, row_kinds, row_costs, row_prompts, row_completions, row_durations,
    kind_keys, kind_organizations, kind_workspaces, kind_names, kind_models, kind_providers, kind_apis,
    kind_outcomes, kind_faults, kind_coverages, kind_places
  );

  DELETE FROM sluice.ledger_open_calls o
    USING unnest(closed_journals, closed_ids) AS c (journal, id)
    WHERE o.folder = of_folder AND o.journal = c.journal AND o.id = c.id;
  INSERT INTO sluice.ledger_open_calls (folder, journal, id, lines)
    SELECT of_folder, o.journal, o.id, o.lines
    FROM unnest(opened_journals, opened_ids, opened_lines) AS o (journal, id, lines)
    ON CONFLICT (folder, journal, id) DO UPDATE SET lines = excluded.lines;

  PERFORM sluice.put_ledger_hours(
    hour_numbers, hour_keys, hour_organizations, hour_coverages, hour_costs, hour_prompts, hour_completions,
    hour_calls
  );
  PERFORM sluice.put_ledger_sums(
    sum_payers, sum_periods, sum_costs, sum_prompts, sum_completions, sum_calls
  );

  IF cardinality(quota_names) > 0 THEN
    PERFORM sluice.settle(of_machine, of_epoch, quota_names, quota_amounts, quota_leased);
  END IF;
  RETURN refused;
END $$;

-- What has to be done now and then, by one machine at a time: partitions of the days that come, and the end of what is
-- older than `days`, by the clock of the database. A partition that somebody reads stays until the next time. True when
-- there may be more of it.
CREATE FUNCTION sluice.keep_ledger(days int) RETURNS boolean LANGUAGE plpgsql VOLATILE
SET lock_timeout = '500ms' AS $$
DECLARE
  today bigint := floor(extract(epoch FROM now()) / 86400);
  -- The rows of the day that is still in part young enough stay.
  last_name text := 'ledger_rows_' || to_char(DATE 'epoch' + (today - days)::int, 'YYYYMMDD');
  old text;
  deleted bigint;
  more boolean := false;
  month bigint := extract(year FROM now() AT TIME ZONE 'UTC') * 12 + extract(month FROM now() AT TIME ZONE 'UTC') - 1;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('sluice.ledger-keeper', 0)) THEN RETURN false; END IF;
  IF to_regclass('sluice.ledger_rows_' || to_char(DATE 'epoch' + (today + 2)::int, 'YYYYMMDD')) IS NULL THEN
    FOR day IN today .. today + 2 LOOP PERFORM sluice.make_ledger_day(day); END LOOP;
    DELETE FROM sluice.ledger_journals WHERE removed AND taken_at < now() - interval '30 days';
  END IF;
  -- A part at a time, so that it ends before the deadline of a statement however many there are. First the sums of
  -- periods that nothing reads any more.
  DELETE FROM sluice.ledger_sums
    WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sluice.ledger_sums
      WHERE (period >= 'daily' AND period < 'daily' || (today - 400))
        OR (period >= 'monthly' AND period < 'monthly' || (month - 14))
        OR (period >= 'weekly' AND period < 'weekly' || ((today + 3) / 7 - 60))
      LIMIT 2000 FOR UPDATE SKIP LOCKED
    ));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  more := deleted = 2000;
  DELETE FROM sluice.ledger_hours
    WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM sluice.ledger_hours WHERE hour < timestamptz 'epoch' + (today - days) * interval '1 day'
      LIMIT 2000 FOR UPDATE SKIP LOCKED
    ));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  more := more OR deleted = 2000;
  -- Last, because it keeps everybody else from the ledger until this is over.
  FOR old IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'sluice.ledger_rows'::regclass AND c.relname < last_name ORDER BY c.relname LIMIT 1
  LOOP
    EXECUTE format('DROP TABLE sluice.%I', old);
    more := true;
  END LOOP;
  RETURN more;
END $$;
