-- Managed records: accounts, keys, federation, groups. Each is a key and a value, as the machines' replicas keep them.
-- A change is one statement: it moves the head from the version it was made on to the next, writes what it puts and
-- removes, and is told to the machines. A removed record stays as a row without a value until replicas that are so old
-- are no longer brought up to date but loaded anew.

CREATE TABLE sluice.change_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  version bigint NOT NULL,
  -- The id of that version's change: a replica that has another one under the same number is of another history.
  change uuid NOT NULL
);

CREATE TABLE sluice.changes (
  version bigint PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  machine text,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);

WITH founding AS (INSERT INTO sluice.changes (version, id) VALUES (0, gen_random_uuid()) RETURNING version, id)
INSERT INTO sluice.change_head (version, change) SELECT version, id FROM founding;

CREATE TABLE sluice.records (
  -- Name of a table of the replica.
  space text NOT NULL,
  key bytea NOT NULL,
  -- JSON in UTF-8, in which a character U+0000 is allowed (so no json or text); null when it was removed.
  value bytea,
  -- Of the change that wrote it last.
  version bigint NOT NULL,
  PRIMARY KEY (space, key)
);
CREATE INDEX records_by_version ON sluice.records (version);

CREATE TABLE sluice.audit (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  book text NOT NULL,
  trail bytea NOT NULL,
  -- Rows that were written together; with the place a row has in them: what is sent twice is kept once.
  batch uuid NOT NULL,
  place integer NOT NULL,
  at bigint NOT NULL,
  -- JSON, as the values of records.
  content bytea NOT NULL,
  UNIQUE (batch, place)
);
CREATE INDEX audit_by_trail ON sluice.audit (book, trail, number DESC);

-- For people. What is not JSON for PostgreSQL is shown as text.
CREATE FUNCTION sluice.readable(value bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN replace(convert_from(value, 'UTF8'), '\u0000', '\ufffd')::jsonb;
EXCEPTION WHEN others THEN
  RETURN to_jsonb(encode(value, 'escape'));
END
$$;

CREATE VIEW sluice.organizations AS
  SELECT r ->> 'id' AS id, r ->> 'name' AS name, r ->> 'plan' AS plan, (r ->> 'credits')::numeric AS credits_nano_usd,
         to_timestamp((r ->> 'createdAt')::numeric / 1000) AS created_at, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'account-organizations' AND value IS NOT NULL) AS readable;

CREATE VIEW sluice.workspaces AS
  SELECT r ->> 'id' AS id, r ->> 'organizationId' AS organization, r ->> 'name' AS name,
         to_timestamp((r ->> 'createdAt')::numeric / 1000) AS created_at, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'account-workspaces' AND value IS NOT NULL) AS readable;

CREATE VIEW sluice.keys AS
  SELECT r ->> 'hash' AS hash, r ->> 'kind' AS kind, r ->> 'label' AS label, r ->> 'name' AS name,
         r ->> 'organizationId' AS organization, r ->> 'workspaceId' AS workspace,
         (r ->> 'disabled')::boolean AS disabled, (r ->> 'limit')::numeric AS limit_nano_usd,
         to_timestamp((r ->> 'createdAt')::numeric / 1000) AS created_at,
         to_timestamp((r ->> 'expiresAt')::numeric / 1000) AS expires_at,
         to_timestamp((r ->> 'deletedAt')::numeric / 1000) AS deleted_at, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'account-keys' AND value IS NOT NULL) AS readable;

CREATE VIEW sluice.federation_issuers AS
  SELECT r ->> 'id' AS id, r ->> 'organizationId' AS organization, r ->> 'name' AS name,
         r ->> 'issuerUrl' AS issuer_url, r ->> 'jwksUrl' AS jwks_url, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'federation-records' AND get_byte(key, 0) = ascii('i') AND value IS NOT NULL) AS readable;

CREATE VIEW sluice.federation_policies AS
  SELECT r ->> 'id' AS id, r ->> 'organizationId' AS organization, r ->> 'issuerId' AS issuer,
         r ->> 'subject' AS subject, r ->> 'audience' AS audience, r ->> 'condition' AS condition,
         r ->> 'apiKeyHash' AS key_hash, (r ->> 'enabled')::boolean AS enabled, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'federation-records' AND get_byte(key, 0) = ascii('p') AND value IS NOT NULL) AS readable;

CREATE VIEW sluice.directory_groups AS
  SELECT r ->> 'id' AS id, r ->> 'organizationId' AS organization, r ->> 'displayName' AS name,
         r ->> 'externalId' AS external_id, jsonb_array_length(r -> 'members') AS members, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'scim-records' AND get_byte(key, 0) = ascii('g') AND value IS NOT NULL) AS readable;

CREATE VIEW sluice.directory_mappings AS
  SELECT r ->> 'id' AS id, r ->> 'organizationId' AS organization, r ->> 'scimGroupId' AS group_id,
         r ->> 'workspaceId' AS workspace, r ->> 'role' AS role, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'scim-records' AND get_byte(key, 0) = ascii('m') AND value IS NOT NULL) AS readable;

CREATE VIEW sluice.audit_rows AS
  SELECT number, book, encode(trail, 'escape') AS trail, to_timestamp(at / 1000.0) AS at, sluice.readable(content) AS content
  FROM sluice.audit;
