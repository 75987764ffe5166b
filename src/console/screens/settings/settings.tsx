/** What is set, from where and what it means; and which configuration runs. */
import { useResource } from '../../api/resource.ts'
import { Check } from '../../kit/fields.tsx'
import { Field } from '../../kit/form.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page, ProblemNote } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { State } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import type { ScreenProps } from '../screen.ts'
import { ConnectProvider } from './connect-provider.tsx'
import { RunningConfiguration } from './running-configuration.tsx'
import { CONFIGURATION, type Configuration, SETTINGS, type Setting } from './wire.ts'

const COLUMNS: readonly Column<Setting>[] = [
  {
    title: 'Setting',
    cell: ({ name, variable }) => (
      <span class="two-lines">
        {name}
        <code class="soft">{variable ?? 'file only'}</code>
      </span>
    ),
  },
  {
    title: 'Value',
    cell: (row) => (
      <span class="two-lines">
        <code class="whole">{textOf(row.value)}</code>
        {row.source !== 'default' && (
          <span class="soft small">{`by\u00a0default\u00a0${textOf(row.default)}`}</span>
        )}
      </span>
    ),
  },
  { title: 'Meaning', cell: ({ meaning }) => meaning },
  {
    title: 'From',
    cell: ({ source }) => <State is={source === 'default' ? 'quiet' : 'good'}>{source}</State>,
  },
  {
    title: 'A change needs',
    from: 'medium',
    cell: ({ reload }) => <span class="soft">{reload ? 'a\u00a0reload' : 'a\u00a0restart'}</span>,
  },
]

export function Screen({ id }: ScreenProps) {
  return id === 'provider' ? <ConnectProvider /> : <SettingList />
}

function SettingList() {
  const { data, problem, reload } = useResource<{ data: readonly Setting[] }>(SETTINGS)
  const running = useResource<{ data: Configuration }>(CONFIGURATION)
  const { query } = place.value
  const wanted = (query.get('q') ?? '').toLowerCase()
  const changedOnly = query.get('changed') === 'yes'
  const rows = data?.data.filter(
    ({ name, variable, meaning, source }) =>
      `${name} ${variable} ${meaning}`.toLowerCase().includes(wanted) &&
      !(changedOnly && source === 'default'),
  )
  // Both at once: the one beneath would move when the one above comes later.
  const isKnown = (data ?? problem) && (running.data ?? running.problem)
  return (
    <Page
      title="Settings"
      lead="What this server was started with. Settings are changed in the environment or the file; of secrets it is only said that they are set."
      actions={
        <a class="button" href={to('settings', 'provider')}>
          Connect a provider
        </a>
      }
    >
      {isKnown && <RunningConfiguration of={running} />}
      {isKnown && (
        <>
          <div class="filters">
            <Field
              label="Find"
              name="q"
              type="search"
              isOptional
              placeholder="name or meaning"
              value={query.get('q') ?? ''}
              onInput={(event) => setQuery({ q: event.currentTarget.value || null })}
            />
            <Check
              label="Only what is not at its default"
              checked={changedOnly}
              onChange={(event) => setQuery({ changed: event.currentTarget.checked ? 'yes' : null })}
            />
          </div>
          <ProblemNote problem={problem} retry={reload} />
          <Table
            caption="Settings"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ name }) => name}
            empty={<Empty title="No setting is like that">Other words find more.</Empty>}
          />
        </>
      )}
    </Page>
  )
}

function textOf(value: unknown): string {
  if (value === '' || value === null || (Array.isArray(value) && value.length === 0)) return '–'
  return Array.isArray(value) ? value.join(', ') : String(value)
}
