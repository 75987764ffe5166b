/** Overview: what happens now. Rates, latencies and the latest calls; for the operator the machine as well. */
import type { ComponentChildren } from 'preact'
import { queryOf } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Empty } from '../../kit/note.tsx'
import { Facts, Figures, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Bytes, Count, Money, rateText, State, Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { may, session } from '../../shell/session.ts'
import { Chart } from '../chart.tsx'
import { OutcomeState } from '../generations/outcome.tsx'
import { firstCall } from '../generations/wire.ts'
import { type Live, latestOf, MOST_CALLS, SECONDS, useLive } from './live.ts'
import { type Call, GENERATIONS, type LiveWorker, type Machine, type Quantiles, type Sample } from './wire.ts'

export function Screen() {
  const live = useLive()
  const { sample } = live
  return (
    <Page title="Overview" beside={<Connection of={live} />} lead={leadOf()}>
      <ProblemNote problem={live.problem} />
      <Rates of={sample} />
      <Section title="Calls a second">
        <Chart
          kind="rate-chart"
          draw={({ RateChart }) => (
            <RateChart beats={live.beats} now={sample?.at ?? null} seconds={SECONDS} textOf={rateText} />
          )}
        />
      </Section>
      <Section title="Latency" lead="Of the last five seconds.">
        <Latencies of={sample} />
      </Section>
      {session.value!.operator && <MachineNow of={sample?.machine ?? null} />}
      <Section title="Latest calls">
        <LatestCalls ended={live.calls} />
      </Section>
    </Page>
  )
}

const leadOf = (): string =>
  session.value!.operator
    ? 'What happens on this machine now, of all organizations.'
    : `What happens in ${session.value!.organization.name} now.`

function Connection({ of }: { of: Live }) {
  if (of.isConnected) return <State is="good">live</State>
  return <State is="quiet">{of.sample === null ? 'connecting' : 'connecting again'}</State>
}

const shown = <T,>(value: T | null | undefined, draw: (value: T) => ComponentChildren): ComponentChildren =>
  value === null || value === undefined ? <span class="skeleton" /> : draw(value)

const rate = (value: number): ComponentChildren => <span class="figure">{rateText(value)}</span>

function Rates({ of }: { of: Sample | null }) {
  const isCounted = of === null || of.in_flight !== null
  return (
    <Figures
      rows={{
        'Calls / s': shown(of?.calls_per_second, rate),
        'Failed / s': shown(of?.failed_per_second, rate),
        'Tokens in / s': shown(of?.prompt_tokens_per_second, rate),
        'Tokens out / s': shown(of?.completion_tokens_per_second, rate),
        'Dollars / min': shown(of, ({ dollars_per_second }) => <Money dollars={60 * dollars_per_second} />),
        'Under way': isCounted ? (
          shown(of?.in_flight, (value) => <Count value={value} />)
        ) : (
          <span class="soft">–</span>
        ),
      }}
    />
  )
}

interface Measured {
  readonly name: string
  readonly of: Quantiles | null
}

const QUANTILES = ['p50', 'p90', 'p99', 'max'] as const
const LATENCIES: readonly Column<Measured>[] = [
  { title: 'Until', cell: ({ name }) => name },
  ...QUANTILES.map(
    (name): Column<Measured> => ({
      title: name,
      align: 'end',
      cell: ({ of }) => (of === null ? <span class="soft">–</span> : <Milliseconds value={of[name]} />),
    }),
  ),
]

function Milliseconds({ value }: { value: number }) {
  return (
    <span class="figure">
      {rateText(value)}
      <span class="unit"> ms</span>
    </span>
  )
}

function Latencies({ of }: { of: Sample | null }) {
  const rows: Measured[] = [
    { name: 'the first of an answer', of: of?.first_event_ms ?? null },
    { name: 'the end of an answer', of: of?.latency_ms ?? null },
  ]
  if (session.value!.operator)
    rows.push({ name: 'the first, without the provider', of: of?.machine?.overhead_ms ?? null })
  return <Table caption="Latency" columns={LATENCIES} rows={rows} keyOf={({ name }) => name} empty={null} />
}

const WORKERS: readonly Column<LiveWorker>[] = [
  {
    title: 'Worker',
    cell: ({ worker, silent_ms }) =>
      silent_ms > 3_000 ? <State is="attention">{`${worker}, silent`}</State> : String(worker),
  },
  { title: 'Loop lag, p99', align: 'end', cell: (of) => <Milliseconds value={of.loop_lag_ms.p99} /> },
  { title: 'CPU', align: 'end', cell: ({ cpu }) => <Count value={Math.round(100 * cpu)} unit="%" /> },
  { title: 'Memory', align: 'end', cell: ({ rss }) => <Bytes value={rss} /> },
  { title: 'Under way', align: 'end', cell: (of) => <Count value={of.requests_in_flight} /> },
  { title: 'Connections', align: 'end', from: 'medium', cell: (of) => <Count value={of.connections} /> },
  { title: 'Pool queue', align: 'end', cell: ({ pool_queue }) => <Count value={pool_queue} /> },
]

function MachineNow({ of }: { of: Machine | null }) {
  return (
    <Section title="This machine">
      <Facts
        rows={{
          'Answers / s': shown(of?.answers_per_second, rate),
          'Of them 5xx': shown(of?.answers_5xx_per_second, rate),
          'Endpoints held back': shown(of?.breakers, breakersText),
        }}
      />
      <Table
        caption="Workers"
        columns={WORKERS}
        rows={of?.workers}
        keyOf={({ worker }) => String(worker)}
        empty={null}
      />
    </Section>
  )
}

const breakersText = (breakers: Machine['breakers']): string =>
  breakers.length === 0 ? 'none' : breakers.map(({ endpoint, state }) => `${endpoint} (${state})`).join(', ')

const CALLS: readonly Column<Call>[] = [
  {
    title: 'Model',
    cell: ({ id, model, created_at }) => (
      <a class="two-lines" href={to('generations', id)}>
        {model}
        <span class="soft">
          <Time at={created_at} />
        </span>
      </a>
    ),
  },
  { title: 'State', from: 'medium', cell: ({ outcome }) => <OutcomeState of={{ outcome, fault: null }} /> },
  { title: 'In', align: 'end', from: 'medium', cell: (call) => <Count value={call.prompt_tokens} /> },
  { title: 'Out', align: 'end', from: 'medium', cell: (call) => <Count value={call.completion_tokens} /> },
  { title: 'Took', align: 'end', cell: ({ duration_ms }) => <Milliseconds value={duration_ms} /> },
  { title: 'Cost', align: 'end', cell: ({ cost }) => <Money dollars={cost} /> },
]

function LatestCalls({ ended }: { ended: readonly Call[] }) {
  // What ended before the feed began; for the operator, as in the feed, of all organizations.
  const path = `${GENERATIONS}${queryOf({ limit: MOST_CALLS })}`
  const { data, problem, reload } = useResource<{ readonly data: readonly Call[] }>(path)
  if (problem) return <ProblemNote problem={problem} retry={reload} />
  return (
    <Table
      caption="Latest calls"
      columns={CALLS}
      rows={data && latestOf(data.data, ended)}
      keyOf={({ id }) => id}
      empty={
        <Empty title="No calls yet" command={firstCall()}>
          {may('operator') && (
            <>
              <a href={to('settings', 'provider')}>Connect a provider</a>, or begin with a simulated model.{' '}
            </>
          )}
          <a href={to('keys', null, { new: 'key' })}>Create a key</a> and put it into{' '}
          <code>SLUICE_API_KEY</code>, or let a job call <a href={to('workload-identity')}>without one</a>.
          The call shows up here as soon as it has ended.
        </Empty>
      }
    />
  )
}
