/** Usage: what calls came to, over time and by key, model and provider; every line leads to its calls. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { queryOf, ROOT } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Select } from '../../kit/fields.tsx'
import { Empty } from '../../kit/note.tsx'
import { Figures, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Count, Id, Money, moneyText } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { session } from '../../shell/session.ts'
import { Chart } from '../chart.tsx'
import { firstCall } from '../generations/wire.ts'
import type { Figure } from './bar-chart.tsx'
import { type Span, slotsOf, sumOf } from './slots.ts'
import { type Sums, USAGE, type UsageAnswer, type UsageLine } from './wire.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

const PERIODS: Readonly<
  Record<string, { readonly title: string; readonly span: Span; readonly count: number }>
> = {
  '24h': { title: 'Last 24 hours', span: 'hour', count: 24 },
  '7d': { title: 'Last 7 days', span: 'day', count: 7 },
  '30d': { title: 'Last 30 days', span: 'day', count: 30 },
  '90d': { title: 'Last 90 days', span: 'day', count: 90 },
}
const DEFAULT_PERIOD = '30d'
const GROUPS = [
  ['model', 'Model'],
  ['provider', 'Provider'],
  ['key', 'Key'],
  ['time', 'Time'],
] as const
const FIGURES: readonly (readonly [Figure, string])[] = [
  ['cost', 'Dollars'],
  ['calls', 'Calls'],
  ['failed', 'Failed calls'],
  ['tokens', 'Tokens'],
]

const chosen = <T extends string>(options: readonly (readonly [T, string])[], text: string | null): T =>
  options.find(([value]) => value === text)?.[0] ?? options[0]![0]

export function Screen() {
  const { query } = place.value
  const asked = query.get('period') ?? ''
  const name = Object.hasOwn(PERIODS, asked) ? asked : DEFAULT_PERIOD
  const { span, count } = PERIODS[name]!
  const group = chosen(GROUPS, query.get('by'))
  const figure = chosen(FIGURES, query.get('show'))
  const from = useMemo(() => beginOf(span, count), [span, count])
  const organization = query.get('organization')
  const key = query.get('key')
  const of = key ?? organization
  const scope = { organization, from, key }
  const range = { organization_id: organization ?? session.value!.organization.id, from, key }
  const overTime = useResource<UsageAnswer>(`${USAGE}${queryOf({ ...range, by: span })}`)
  const by = group === 'time' ? span : group
  const path = `${USAGE}${queryOf({ ...range, by })}`
  const grouped = useResource<UsageAnswer>(path)
  // The answer before is of other columns.
  const rows = grouped.data?.data.every((line) => membersOf(line).includes(by))
    ? grouped.data.data
    : undefined
  const problem = overTime.problem ?? grouped.problem
  const sums = overTime.data && sumOf(overTime.data.data)
  return (
    <Page
      title="Usage"
      beside={of && <Id id={of} />}
      lead="What calls came to. Days and hours are those of UTC, and the figures are sums of whole hours."
      actions={
        <a class="button" href={`${ROOT}${path}&format=csv`} download="usage.csv">
          Download as CSV
        </a>
      }
    >
      <ProblemNote problem={problem} retry={() => window.location.reload()} />
      <div class="filters">
        <Select
          label="Period"
          value={name}
          options={Object.entries(PERIODS).map(([value, { title }]) => [value, title] as const)}
          onChange={(event) => setQuery({ period: event.currentTarget.value })}
        />
        <Select
          label="Drawn"
          value={figure}
          options={FIGURES}
          onChange={(event) => setQuery({ show: event.currentTarget.value })}
        />
        <Select
          label="Summed up by"
          value={group}
          options={GROUPS}
          onChange={(event) => setQuery({ by: event.currentTarget.value })}
        />
      </div>
      <Totals of={sums} scope={scope} />
      <Section title={`${FIGURES.find(([value]) => value === figure)![1]} by ${span}`}>
        <Chart
          kind="bar-chart"
          draw={({ BarChart }) => (
            <BarChart
              slots={slotsOf(span, from, count, overTime.data?.data ?? [])}
              figure={figure}
              span={span}
              moneyText={moneyText}
            />
          )}
        />
      </Section>
      <Table
        caption="Usage"
        columns={columnsOf(by, scope)}
        rows={rows}
        keyOf={nameOf}
        empty={
          <Empty title="No calls in this time" command={firstCall()}>
            A longer period may show some, or make one:
          </Empty>
        }
      />
    </Page>
  )
}

/** So that the last of so many days or hours is that of now. */
function beginOf(span: Span, count: number): string {
  const length = span === 'day' ? DAY_MS : HOUR_MS
  return new Date((Math.floor(Date.now() / length) + 1 - count) * length).toISOString()
}

function Totals({ of, scope }: { of: Sums | undefined; scope: Scope }) {
  const calls = (number: ComponentChildren, outcome?: string) =>
    // Nothing would stand behind a link.
    (outcome ? of?.failed : of?.calls) ? (
      <a class="quiet" href={to('generations', null, { ...scope, outcome })}>
        {number}
      </a>
    ) : (
      number
    )
  const shown = (value: number | undefined) =>
    value === undefined ? <span class="skeleton" /> : <Count value={value} />
  const money = (dollars: number | undefined) =>
    dollars === undefined ? <span class="skeleton" /> : <Money dollars={dollars} />
  return (
    <Figures
      rows={{
        Dollars: calls(money(of?.cost)),
        'Own accounts': calls(money(of?.byok_cost)),
        Calls: calls(shown(of?.calls)),
        Failed: calls(shown(of?.failed), 'failed'),
        'Tokens in': calls(shown(of?.prompt_tokens)),
        'Tokens out': calls(shown(of?.completion_tokens)),
      }}
    />
  )
}

/** Whose calls, and from when on, as filters of the list of calls. */
type Scope = Readonly<Record<string, string | null>>

type Group = 'day' | 'hour' | 'key' | 'model' | 'provider'

function membersOf(line: UsageLine): Group[] {
  const { day, hour, key_hash, model, provider } = line
  const told = { day, hour, key: key_hash, model, provider }
  return (Object.keys(told) as Group[]).filter((name) => told[name] !== undefined)
}

const nameOf = ({ day, hour, key_hash, model, provider }: UsageLine): string =>
  day ?? hour ?? key_hash ?? model ?? provider ?? ''

const TITLES: Readonly<Record<Group, string>> = {
  ...{ day: 'Day (UTC)', hour: 'Hour (UTC)', key: 'Key', model: 'Model', provider: 'Provider' },
}

function columnsOf(by: Group, scope: Scope): readonly Column<UsageLine>[] {
  /** Every number leads to the calls that made it, where the list can show some. */
  const linked = (line: UsageLine, number: ComponentChildren, more = {}) =>
    isOfNobody(line) ? (
      number
    ) : (
      <a class="quiet" href={to('generations', null, { ...filterOf(line, scope), ...more })}>
        {number}
      </a>
    )
  return [
    {
      title: TITLES[by],
      cell: (line) =>
        isOfNobody(line) ? (
          titleOf(line)
        ) : (
          <a href={to('generations', null, filterOf(line, scope))}>{titleOf(line)}</a>
        ),
    },
    { title: 'Calls', align: 'end', cell: (line) => linked(line, <Count value={line.calls} />) },
    {
      title: 'Failed',
      align: 'end',
      from: 'medium',
      cell: (line) =>
        line.failed === 0 ? (
          <span class="soft">0</span>
        ) : (
          linked(line, <Count value={line.failed} />, { outcome: 'failed' })
        ),
    },
    {
      title: 'Tokens in',
      align: 'end',
      from: 'medium',
      cell: (line) => linked(line, <Count value={line.prompt_tokens} />),
    },
    {
      title: 'Tokens out',
      align: 'end',
      from: 'medium',
      cell: (line) => linked(line, <Count value={line.completion_tokens} />),
    },
    {
      title: 'Own accounts',
      align: 'end',
      from: 'wide',
      cell: (line) => linked(line, <Money dollars={line.byok_cost} />),
    },
    { title: 'Cost', align: 'end', cell: (line) => linked(line, <Money dollars={line.cost} />) },
  ]
}

/** No call of its own, as of a fee, or one that nobody was asked for, for which the list has no filter. */
const isOfNobody = ({ calls, model, provider }: UsageLine): boolean =>
  calls === 0 || model === '' || provider === ''

function titleOf({ day, hour, key_hash, key_name, model, provider }: UsageLine): string {
  if (hour !== undefined) return `${hour.slice(0, 10)} ${hour.slice(11, 16)}`
  if (key_hash !== undefined) return key_name ?? key_hash.slice(0, 8)
  return day ?? ((model ?? provider) || 'nobody was asked')
}

/** The calls of a line, as a filter of their list. */
function filterOf({ day, hour, key_hash, model, provider }: UsageLine, scope: Scope): Scope {
  const begin = hour ?? day
  if (begin !== undefined) {
    const end = new Date(Date.parse(begin) + (hour === undefined ? DAY_MS : HOUR_MS)).toISOString()
    return { ...scope, from: begin, to: hour === undefined ? end.slice(0, 10) : end }
  }
  return {
    ...scope,
    ...(key_hash && { key: key_hash }),
    ...(model && { model }),
    ...(provider && { provider }),
  }
}
