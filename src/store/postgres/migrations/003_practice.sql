-- Items of the practice API, files, and the texts that models keep. They are read and written through: no machine has a
-- copy. What callers write is kept as bytes: text of PostgreSQL holds no U+0000 and compares as its collation says.

-- ── Items ────────────────────────────────────────────────────────────────────────

CREATE TABLE sluice.items (
  id bigint PRIMARY KEY,
  -- The answer, the same bytes as in an embedded store.
  json bytea NOT NULL,
  -- `name FF description FF`, what a search goes through: FF never occurs in UTF-8, so no match reaches across.
  texts bytea NOT NULL,
  -- As it stands in the answer: no other program writes a double with the very same digits.
  created_at text NOT NULL
);

-- One row. Every change of items locks it first: ids have no gaps (a sequence skips after a crash), the bytes are exact
-- over all machines, and no two changes can wait for each other.
CREATE TABLE sluice.item_counter (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  last_id bigint NOT NULL DEFAULT 0,
  -- Of all items as JSON.
  bytes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
INSERT INTO sluice.item_counter DEFAULT VALUES;

-- For operators.
CREATE VIEW sluice.readable_items AS SELECT id, convert_from(json, 'UTF8') AS json FROM sluice.items;

-- Applies changes one behind the other, as one transaction; a row for each, in their order. `item_ids`: null for a new
-- item, which gets the next id. `head_bytes`: how many bytes of `content` are the item's JSON up to `"id"`; null removes
-- the item. `text_bytes`: how many behind them are its texts. `created`: when a new one was made, as in its JSON.
-- `after`: where it is not null, nothing happens unless that is the last id given.
-- Outcomes: `done`, `none` (there is no such item), `full` (items have all the room they may have).
CREATE FUNCTION sluice.change_items(
  item_ids bigint[], head_bytes integer[], text_bytes integer[], created text[],
  content bytea, most_bytes bigint, after bigint
) RETURNS TABLE (item bigint, made text, outcome text) LANGUAGE plpgsql AS $$
DECLARE
  counter sluice.item_counter;
  begins integer := 1;
  total bigint;
  old_bytes bigint;
  new_json bytea;
BEGIN
  SELECT c.* INTO counter FROM sluice.item_counter c FOR UPDATE;
  IF counter.last_id <> after THEN RETURN; END IF;
  total := counter.bytes;
  FOR n IN 1 .. cardinality(item_ids) LOOP
    item := item_ids[n];
    made := created[n];
    old_bytes := 0;
    outcome := 'done';
    IF item IS NULL THEN
      item := counter.last_id + 1;
    ELSE
      SELECT octet_length(i.json), i.created_at INTO old_bytes, made FROM sluice.items i WHERE i.id = item;
      IF NOT FOUND THEN outcome := 'none'; END IF;
    END IF;
    IF head_bytes[n] IS NULL THEN
      IF outcome = 'done' THEN
        DELETE FROM sluice.items i WHERE i.id = item;
        total := total - old_bytes;
      END IF;
    ELSE
      IF outcome = 'done' THEN
        new_json := substring(content FROM begins FOR head_bytes[n])
          || convert_to('"id":' || item || ',"created_at":' || made || '}', 'UTF8');
        IF octet_length(new_json) > old_bytes AND total + octet_length(new_json) - old_bytes > most_bytes THEN
          outcome := 'full';
        ELSIF item_ids[n] IS NULL THEN
          INSERT INTO sluice.items VALUES
            (item, new_json, substring(content FROM begins + head_bytes[n] FOR text_bytes[n]), made);
          counter.last_id := item;
        ELSE
          UPDATE sluice.items i
          SET json = new_json, texts = substring(content FROM begins + head_bytes[n] FOR text_bytes[n])
          WHERE i.id = item;
        END IF;
        IF outcome = 'done' THEN total := total + octet_length(new_json) - old_bytes; END IF;
      END IF;
      begins := begins + head_bytes[n] + text_bytes[n];
    END IF;
    RETURN NEXT;
  END LOOP;
  UPDATE sluice.item_counter c SET last_id = counter.last_id, bytes = total
  WHERE (c.last_id, c.bytes) IS DISTINCT FROM (counter.last_id, total);
END
$$;

-- ── Files ────────────────────────────────────────────────────────────────────────

-- A row comes with the first piece of a content, and is a file once it has its record. One that was deleted, or given
-- up, stays for a while without: whoever reads it goes on, and its pieces are removed a few at a time.
CREATE TABLE sluice.files (
  id text COLLATE "C" PRIMARY KEY,
  -- JSON, as in an embedded store.
  record bytea,
  organization text COLLATE "C",
  workspace text COLLATE "C",
  size bigint NOT NULL DEFAULT 0,
  -- While it is on its way: when its last piece came.
  touched_at timestamptz NOT NULL DEFAULT now(),
  -- When it was deleted; `-infinity` where nobody can be reading it.
  deleted_at timestamptz,
  CHECK (record IS NULL OR (organization IS NOT NULL AND workspace IS NOT NULL AND deleted_at IS NULL))
);
CREATE INDEX files_of_workspace ON sluice.files (workspace, id) WHERE record IS NOT NULL;
CREATE INDEX files_without_record ON sluice.files (organization, deleted_at) WHERE record IS NULL;

-- Contents in pieces of one size, the last one excepted; random bytes gain nothing from being compressed, and a part of
-- a piece is read without the rest of it. No foreign key: it would lock the row of the file for each piece.
CREATE TABLE sluice.file_pieces (
  file text COLLATE "C",
  number integer,
  bytes bytea NOT NULL,
  PRIMARY KEY (file, number)
);
ALTER TABLE sluice.file_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE sluice.file_usage (
  organization text COLLATE "C" PRIMARY KEY,
  files bigint NOT NULL DEFAULT 0 CHECK (files >= 0),
  bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0)
);

CREATE VIEW sluice.readable_files AS
  SELECT id, organization, workspace, size, convert_from(record, 'UTF8') AS record
  FROM sluice.files WHERE record IS NOT NULL;

-- Makes a content a file, with its last piece, which may be its first one. `stored`; `full` where the organization has
-- no room for it, and `gone` where it was given up meanwhile: then nothing has changed.
CREATE FUNCTION sluice.store_file(
  file_id text, file_record bytea, of_organization text, of_workspace text, file_size bigint,
  last_number integer, last_bytes bytea, most_files bigint, most_bytes bigint
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
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

-- Deletes a file; whether there was one. Its bytes count no more. The contents an organization has deleted are kept for
-- those who read them, the latest `most_kept` bytes of them: beyond that they may go at once.
CREATE FUNCTION sluice.remove_file(file_id text, most_kept bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  gone sluice.files;
BEGIN
  UPDATE sluice.files f SET record = NULL, deleted_at = clock_timestamp()
  WHERE f.id = file_id AND f.record IS NOT NULL RETURNING f.* INTO gone;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE sluice.file_usage u SET files = u.files - 1, bytes = u.bytes - gone.size
  WHERE u.organization = gone.organization;
  UPDATE sluice.files f SET deleted_at = '-infinity' WHERE f.id IN (
    SELECT kept.id FROM (
      SELECT d.id, sum(d.size) OVER (ORDER BY d.deleted_at DESC, d.id) AS bytes FROM sluice.files d
      WHERE d.organization = gone.organization AND d.record IS NULL AND d.deleted_at > '-infinity'
    ) kept WHERE kept.bytes > most_kept
  );
  RETURN true;
END
$$;

-- ── What models keep ─────────────────────────────────────────────────────────────

-- A row for each workspace that has kept something: whoever changes its texts locks it.
CREATE TABLE sluice.memories (workspace text COLLATE "C" PRIMARY KEY);

CREATE TABLE sluice.memory_texts (
  workspace text COLLATE "C",
  key text COLLATE "C",
  text bytea NOT NULL,
  PRIMARY KEY (workspace, key)
);
