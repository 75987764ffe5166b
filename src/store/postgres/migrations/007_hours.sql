-- Sums of hours tell models and providers apart, so that usage is read from them and lists pass over hours that hold
-- nothing of what is looked for. Rows are found by the moment of their dispatch and their id, which is the order of lists.

CREATE INDEX ledger_rows_order ON sluice.ledger_rows (begun_at, id);
DROP INDEX sluice.ledger_rows_id;

DROP FUNCTION sluice.take_journals;
DROP FUNCTION sluice.put_ledger_hours;
DROP TABLE sluice.ledger_hours;

-- What calls of an hour came to. Parts count with their own model and provider, and as no calls.
CREATE TABLE sluice.ledger_hours (
  hour timestamptz NOT NULL,
  organization_id text COLLATE "C" NOT NULL,
  key_hash text COLLATE "C" NOT NULL,
  -- Empty for what ran in none.
  workspace_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  cost bigint NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  calls bigint NOT NULL,
  failed bigint NOT NULL,
  -- What went on callers' own accounts.
  byok_cost bigint NOT NULL,
  PRIMARY KEY (organization_id, hour, key_hash, workspace_id, model, provider)
) WITH (fillfactor = 50);
-- For all organizations together, and for their end: see sluice.keep_ledger.
CREATE INDEX ledger_hours_hour ON sluice.ledger_hours (hour);

INSERT INTO sluice.ledger_hours
  SELECT date_trunc('hour', begun_at, 'UTC'), organization_id, key_hash, coalesce(workspace_id, ''), left(model, 128),
    left(provider, 128), sum(cost), sum(prompt_tokens), sum(completion_tokens), count(*) FILTER (WHERE kind = 'call'),
    count(*) FILTER (WHERE kind = 'call' AND outcome = 'failed'),
    coalesce(sum((sluice.ledger_detail(detail) ->> 18)::numeric), 0)
  FROM sluice.ledger_rows WHERE kind <> 'lost' GROUP BY 1, 2, 3, 4, 5, 6;

CREATE FUNCTION sluice.put_ledger_hours(
  hour_numbers bigint[], hour_organizations text[], hour_keys text[], hour_workspaces text[], hour_models text[],
  hour_providers text[], hour_costs bigint[], hour_prompts bigint[], hour_completions bigint[], hour_calls bigint[],
  hour_failed bigint[], hour_byok bigint[]
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO sluice.ledger_hours AS known
    SELECT timestamptz 'epoch' + h.number * interval '1 hour', h.organization, h.key_hash, h.workspace, h.model,
      h.provider, h.cost, h.prompt, h.completion, h.calls, h.failed, h.byok
    FROM unnest(
      hour_numbers, hour_organizations, hour_keys, hour_workspaces, hour_models, hour_providers, hour_costs,
      hour_prompts, hour_completions, hour_calls, hour_failed, hour_byok
    ) AS h (
      number, organization, key_hash, workspace, model, provider, cost, prompt, completion, calls, failed, byok
    )
    ON CONFLICT (organization_id, hour, key_hash, workspace_id, model, provider) DO UPDATE SET
      cost = known.cost + excluded.cost,
      prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = known.completion_tokens + excluded.completion_tokens,
      calls = known.calls + excluded.calls,
      failed = known.failed + excluded.failed,
      byok_cost = known.byok_cost + excluded.byok_cost;
END $$;

-- As before, with the sums of hours as they are now. Takes pieces of journals of one machine, all of them or none, and
-- answers how many rows were refused; null when a journal does not stand where its piece begins. Whatever several
-- machines change is in the order of its keys, so that they wait for each other and never in a circle.
CREATE FUNCTION sluice.take_journals(
  of_machine text, of_folder text, of_epoch bigint,
  journals text[], from_segments bigint[], from_positions bigint[], to_segments bigint[], to_positions bigint[],
  ends boolean[],
  row_details text, row_ids text, row_begun bigint[], row_kinds bigint[], row_costs bigint[], row_prompts bigint[],
  row_completions bigint[], row_durations bigint[], kind_keys text, kind_organizations text, kind_workspaces text,
  kind_names text, kind_models text, kind_providers text, kind_apis text, kind_outcomes text, kind_faults text,
  kind_coverages bigint[], kind_places bigint[],
  closed_journals text[], closed_ids text[], opened_journals text[], opened_ids text[], opened_lines text[],
  hour_numbers bigint[], hour_organizations text[], hour_keys text[], hour_workspaces text[], hour_models text[],
  hour_providers text[], hour_costs bigint[], hour_prompts bigint[], hour_completions bigint[], hour_calls bigint[],
  hour_failed bigint[], hour_byok bigint[],
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
    hour_numbers, hour_organizations, hour_keys, hour_workspaces, hour_models, hour_providers, hour_costs,
    hour_prompts, hour_completions, hour_calls, hour_failed, hour_byok
  );
  PERFORM sluice.put_ledger_sums(
    sum_payers, sum_periods, sum_costs, sum_prompts, sum_completions, sum_calls
  );

  IF cardinality(quota_names) > 0 THEN
    PERFORM sluice.settle(of_machine, of_epoch, quota_names, quota_amounts, quota_leased);
  END IF;
  RETURN refused;
END $$;
