/** The machines that are one server: what each holds, what to do about one that is gone, what happens when parts fail. */
import { useEffect, useState } from 'preact/hooks'
import { useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Facts, Figures, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Bytes, Count, Money, State } from '../../kit/values.tsx'
import { type Failure, FLEET, type Fleet, type Machine } from './wire.ts'

/** Machines beat every second or so; a person sees no more of it. */
const REFRESH_MS = 5_000
/** Machines that are well were heard within so long. */
const JUST_NOW_S = 5
/** A clock that is further off than this makes ends of keys and tokens wrong by more than anybody expects. */
const CLOCK_IS_OFF_S = 1

export function Screen() {
  const { data, problem, reload } = useResource<{ data: Fleet }>(FLEET)
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), REFRESH_MS)
    return () => clearInterval(timer)
  }, [reload])
  const fleet = data?.data
  return (
    <Page
      title="Fleet"
      lead="The machines that are one server, what each of them holds, and what happens when a part of it fails."
    >
      <ProblemNote problem={problem} retry={reload} />
      {fleet?.store === 'embedded' && <OneMachine machine={fleet.machines[0]} />}
      {fleet?.store === 'postgresql' && <ManyMachines fleet={fleet} />}
    </Page>
  )
}

const ANOTHER = `export SLUICE_DATABASE_URL=postgres://user:password@host:5432/database
export SLUICE_SEALING_KEY_FILE=sealing.key   # 32 random bytes, the same on all
export SLUICE_PUBLIC_URL=https://the.name.of.all
npx sluice`

function OneMachine({ machine }: { machine: Machine | undefined }) {
  return (
    <>
      {machine && (
        <Section title={machine.name}>
          <Facts
            rows={{
              State: <StateOf machine={machine} />,
              Release: machine.release,
              Store: 'embedded, in the data folder of this machine',
            }}
          />
        </Section>
      )}
      <Section
        title="More than one machine"
        lead="This server keeps everything on its own disk, so there is one machine. With a PostgreSQL any number of machines are one server: the same keys, limits to the last cent and one ledger. The store moves with sluice import."
      >
        <Code text={ANOTHER} label="Copy what each machine is started with" />
      </Section>
    </>
  )
}

function ManyMachines({ fleet: { machines, version, failures } }: { fleet: Fleet }) {
  const live = machines.filter(({ state }) => state === 'live').length
  const total = (of: (machine: Machine) => number): number =>
    machines.reduce((sum, machine) => sum + of(machine), 0)
  const [about, setAbout] = useState<string | null>(null)
  const gone = machines.find(({ name, state }) => name === about && state === 'expired')
  return (
    <>
      <Figures
        rows={{
          'Machines live': <Count value={live} unit={`of ${machines.length}`} />,
          'Out on lease': <Money dollars={total(({ leased }) => leased)} />,
          Frozen: <Money dollars={total(({ frozen }) => frozen)} />,
          'Not in the ledger yet': <Bytes value={total((each) => each.journal_backlog_bytes)} />,
        }}
      />
      <Table
        caption="Machines"
        columns={columnsOf(version, setAbout)}
        rows={machines}
        keyOf={({ name }) => name}
        empty={null}
      />
      {gone && <Expired machine={gone} close={() => setAbout(null)} />}
      <Section
        title="When something fails"
        lead="With the settings of this machine. sluice drill --fleet plays it on a PostgreSQL of its own."
      >
        <div class="failures">
          {failures.map((failure) => (
            <FailureDetails key={failure.id} failure={failure} />
          ))}
        </div>
      </Section>
    </>
  )
}

function Expired({ machine: { name, frozen }, close }: { machine: Machine; close: () => void }) {
  return (
    <Dialog title={`${name} is not heard any more`} close={close}>
      <p>
        Its leases stay counted
        {frozen > 0 && (
          <>
            , <Money dollars={frozen} /> of them frozen,
          </>
        )}{' '}
        until it comes back with its disk, which settles them. If it never will, this sets them free; it says
        before by how much credits may be overspent, and asks:
      </p>
      <Code text={`npx sluice fleet forget ${name}`} label="Copy the command" />
    </Dialog>
  )
}

const columnsOf = (version: number, open: (name: string) => void): readonly Column<Machine>[] => [
  {
    title: 'Machine',
    cell: ({ name, release }) => (
      <span class="two-lines">
        {name}
        <span class="soft small">{release ?? 'release unknown'}</span>
      </span>
    ),
  },
  {
    title: 'State',
    cell: (machine) =>
      machine.state === 'expired' ? (
        <button type="button" class="plain" onClick={() => open(machine.name)}>
          <StateOf machine={machine} />
          <span class="small">What to do</span>
        </button>
      ) : (
        <StateOf machine={machine} />
      ),
  },
  {
    title: 'Last heard',
    from: 'medium',
    cell: ({ beat_age_s }) => (beat_age_s === null ? <None /> : agoText(beat_age_s)),
  },
  {
    title: 'Behind by',
    align: 'end',
    from: 'medium',
    cell: ({ version_applied }) => <Count value={Math.max(0, version - version_applied)} unit="changes" />,
  },
  {
    title: 'On lease',
    align: 'end',
    cell: ({ leased, leases }) => (
      <span title={`${leases.toLocaleString('en-US')} leases`}>
        <Money dollars={leased} />
      </span>
    ),
  },
  { title: 'Frozen', align: 'end', from: 'medium', cell: ({ frozen }) => <Money dollars={frozen} /> },
  {
    title: 'Journal',
    align: 'end',
    from: 'medium',
    cell: ({ journal_backlog_bytes }) => <Bytes value={journal_backlog_bytes} />,
  },
  {
    title: 'Clock',
    align: 'end',
    from: 'wide',
    cell: ({ clock_difference_s }) => <Clock ahead={clock_difference_s} />,
  },
]

const STATES = {
  live: 'good',
  joining: 'attention',
  expired: 'bad',
  left: 'quiet',
} as const satisfies Record<Machine['state'], string>

function StateOf({ machine: { state } }: { machine: Machine }) {
  return <State is={STATES[state]}>{state}</State>
}

function Clock({ ahead }: { ahead: number | null }) {
  if (ahead === null) return <None />
  if (Math.abs(ahead) < CLOCK_IS_OFF_S) return <State is="good">right</State>
  return <State is="attention">{`${Math.abs(ahead).toFixed(0)} s ${ahead > 0 ? 'ahead' : 'behind'}`}</State>
}

function agoText(seconds: number): string {
  return seconds < JUST_NOW_S ? 'just now' : `${Math.round(seconds).toLocaleString('en-US')} s ago`
}

function None() {
  return <span class="soft">–</span>
}

function FailureDetails({ failure: row }: { failure: Failure }) {
  return (
    <details>
      <summary>{row.failure}</summary>
      <Facts
        rows={{
          Keys: row.keys,
          Money: row.money,
          Windows: row.windows,
          Ledger: row.ledger,
          Calls: row.calls,
          'How long': row.lasts,
          'What you see': row.seen,
        }}
      />
    </details>
  )
}
