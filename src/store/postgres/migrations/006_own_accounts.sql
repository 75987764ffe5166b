-- serves 005
-- Calls that go on the caller's own account at a provider. What the provider asks for them is charged to nobody here; it
-- is summed up apart, and counts in the limits of keys that say so.

COMMENT ON COLUMN sluice.ledger_sums.payer IS 'k: a key, by its hash; o: an organization, by its id; b: what went on a key''s callers'' own accounts';

-- The payer 'i' and a hash is the key with what went on its callers' own accounts: both sums together.
CREATE OR REPLACE FUNCTION sluice.spent(payer text, period text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(sum(s.cost), 0)::bigint FROM sluice.ledger_sums s
  WHERE s.period = $2 AND s.payer = ANY (
    CASE WHEN $1 LIKE 'i%' THEN ARRAY['k' || substr($1, 2), 'b' || substr($1, 2)] ELSE ARRAY[$1] END)
$$;

-- As before, and the limit of a key for the quota in which its callers' own accounts count.
CREATE OR REPLACE FUNCTION sluice.bank_limit(p_name text, p_known bigint)
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
  ELSIF letter IN ('$k', '$i', 'c', 'r', 't') AND id ~ '^([0-9a-f]{2})+$' THEN
    SELECT r.version, r.value INTO version, content FROM sluice.records r
    WHERE r.space = 'account-keys' AND r.key = decode(id, 'hex');
  END IF;
  -- Parsed only when it is another one than before.
  IF version <> p_known AND content IS NOT NULL THEN
    field := CASE WHEN letter = '$o' THEN '{credits}' WHEN letter IN ('$k', '$i') THEN '{limit}'
      WHEN letter = 'c' THEN '{rateLimit,concurrent}' WHEN letter = 'r' THEN '{rateLimit,requestsPerMinute}'
      ELSE '{rateLimit,tokensPerMinute}' END;
    capacity := (sluice.ledger_detail(convert_from(content, 'UTF8')) #>> field)::numeric;
  END IF;
  RETURN NEXT;
END $$;

-- As before, and what the provider asks of a caller's own account, which is the last member of the detail.
CREATE OR REPLACE VIEW sluice.ledger AS
  SELECT begun_at, id, kind, machine, key_hash, organization_id, workspace_id, model, provider, api, outcome, fault,
    cost / 1e9 AS dollars,
    CASE WHEN kind = 'lost' THEN upstream_cost ELSE coalesce((d.detail ->> 18)::numeric, 0) END / 1e9 AS upstream_dollars,
    prompt_tokens, completion_tokens, duration_ms,
    CASE WHEN kind <> 'lost' THEN d.detail ->> 5 = '1' END AS streamed,
    CASE WHEN kind <> 'lost' THEN (d.detail ->> 6)::numeric END AS attempts,
    CASE WHEN kind <> 'lost' THEN (d.detail ->> 8)::numeric END AS first_event_ms,
    CASE WHEN kind <> 'lost' THEN d.detail -> 0 END AS units,
    d.detail,
    d.detail -> CASE WHEN kind = 'lost' THEN 6 ELSE 18 END IS NOT NULL AS is_byok
  FROM sluice.ledger_rows r, LATERAL (SELECT sluice.ledger_detail(r.detail) AS detail) d;
