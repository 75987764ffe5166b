-- The fleet itself: one row. Epochs are counted here, so that none is given twice, whatever becomes of a machine's row.
CREATE TABLE sluice.fleet (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  last_epoch bigint NOT NULL DEFAULT 0,
  -- A known text under the sealing key of the first machine: another key does not open it.
  sealing_check text,
  founded_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO sluice.fleet DEFAULT VALUES;

CREATE TABLE sluice.machines (
  name text PRIMARY KEY,
  -- Of its data folder, where its journals lie: another folder under the same name is another machine.
  folder uuid NOT NULL,
  -- Of the process that joined last.
  run uuid NOT NULL,
  epoch bigint NOT NULL UNIQUE,
  state text NOT NULL CHECK (state IN ('joining', 'live', 'expired', 'left')),
  beat bigint NOT NULL DEFAULT 0,
  -- Version of the managed records it has.
  applied bigint NOT NULL DEFAULT 0,
  serves_away boolean NOT NULL,
  -- For how long it serves without a confirmed beat: others wait by its limit, whatever theirs is.
  staleness_ms integer NOT NULL,
  public_url text NOT NULL,
  api_key_hash text NOT NULL,
  management_key_hash text NOT NULL,
  facts jsonb NOT NULL,
  joined_at timestamptz NOT NULL DEFAULT now(),
  -- For operators only; nothing is decided by a clock of the store's machine.
  beat_at timestamptz NOT NULL DEFAULT now()
-- Every beat rewrites the row in place: no column of it but the keys is in an index.
) WITH (fillfactor = 50);
