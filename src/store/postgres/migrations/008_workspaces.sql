-- serves 006
-- A workspace that is deleted keeps its record, with the time, so that what was on its way to it is refused: who brings a
-- file or a text locks the record, and either comes before the deletion or sees it.

CREATE FUNCTION sluice.is_deleted(workspace_record bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT workspace_record IS NOT NULL AND sluice.readable(workspace_record) ? 'deletedAt'
$$;

-- Of a workspace without a record nothing is said. Fails in no way; the lock is that of the transaction.
CREATE FUNCTION sluice.keep_workspace(id text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  content bytea;
BEGIN
  SELECT r.value INTO content FROM sluice.records r
  WHERE r.space = 'account-workspaces' AND r.key = convert_to(id, 'UTF8') FOR SHARE;
  RETURN NOT sluice.is_deleted(content);
END
$$;

-- As before; `gone` also where the workspace was deleted.
CREATE OR REPLACE FUNCTION sluice.store_file(
  file_id text, file_record bytea, of_organization text, of_workspace text, file_size bigint,
  last_number integer, last_bytes bytea, most_files bigint, most_bytes bigint
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF NOT sluice.keep_workspace(of_workspace) THEN RETURN 'gone'; END IF;
  IF last_number = 0 THEN
    INSERT INTO sluice.files (id) VALUES (file_id);
  ELSE
    PERFORM FROM sluice.files f
    WHERE f.id = file_id AND f.record IS NULL AND f.deleted_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN 'gone'; END IF;
  END IF;
  INSERT INTO sluice.file_usage AS u (organization, files, bytes) VALUES (of_organization, 0, 0)
  ON CONFLICT (organization) DO NOTHING;
  UPDATE sluice.file_usage u SET files = u.files + 1, bytes = u.bytes + file_size
  WHERE u.organization = of_organization AND u.files < most_files AND u.bytes + file_size <= most_bytes;
  IF NOT FOUND THEN
    DELETE FROM sluice.files f WHERE last_number = 0 AND f.id = file_id;
    RETURN 'full';
  END IF;
  IF last_bytes IS NOT NULL THEN
    INSERT INTO sluice.file_pieces VALUES (file_id, last_number, last_bytes);
  END IF;
  UPDATE sluice.files f
  SET record = file_record, organization = of_organization, workspace = of_workspace, size = file_size
  WHERE f.id = file_id;
  RETURN 'stored';
END
$$;

-- The row is locked when this runs, and its statements see what was there by then.
CREATE FUNCTION sluice.empty_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  emptied text := convert_from(NEW.key, 'UTF8');
BEGIN
  IF sluice.is_deleted(NEW.value) AND NOT sluice.is_deleted(OLD.value) THEN
    IF EXISTS (SELECT FROM sluice.files f WHERE f.workspace = emptied AND f.record IS NOT NULL) THEN
      RAISE EXCEPTION USING ERRCODE = 'SL001', MESSAGE = 'the workspace has files';
    END IF;
    DELETE FROM sluice.memory_texts t WHERE t.workspace = emptied;
    DELETE FROM sluice.memories m WHERE m.workspace = emptied;
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER empty_workspace BEFORE UPDATE ON sluice.records
FOR EACH ROW WHEN (NEW.space = 'account-workspaces') EXECUTE FUNCTION sluice.empty_workspace();

CREATE OR REPLACE VIEW sluice.workspaces AS
  SELECT r ->> 'id' AS id, r ->> 'organizationId' AS organization, r ->> 'name' AS name,
         to_timestamp((r ->> 'createdAt')::numeric / 1000) AS created_at, version
  FROM (SELECT sluice.readable(value) AS r, version FROM sluice.records
        WHERE space = 'account-workspaces' AND value IS NOT NULL) AS readable
  WHERE NOT r ? 'deletedAt';
