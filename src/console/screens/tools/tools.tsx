/** Server tools and plugins: who does the work, at what price, within which limits. */
import { useResource } from '../../api/resource.ts'
import { Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Count, Money, State } from '../../kit/values.tsx'
import { type Plugin, type Terms, TOOLS, type Tool } from './wire.ts'

const TOOL_COLUMNS: readonly Column<Tool>[] = [
  { title: 'Tool', cell: ({ name }) => <code>{name}</code> },
  { title: 'State', cell: ToolState },
  { title: 'Backends', from: 'medium', cell: Backends },
  { title: 'A call costs', align: 'end', cell: ({ price }) => <Price dollars={price} /> },
  {
    title: 'Most time',
    align: 'end',
    from: 'medium',
    cell: ({ timeout_ms }) => <Count value={timeout_ms / 1000} unit="s" />,
  },
  {
    title: 'A minute, per key',
    align: 'end',
    from: 'wide',
    cell: (row) => <Most calls={row.calls_per_minute_per_key} />,
  },
  {
    title: 'Per organization',
    align: 'end',
    from: 'wide',
    cell: (row) => <Most calls={row.calls_per_minute_per_organization} />,
  },
]

const PLUGIN_COLUMNS: readonly Column<Plugin>[] = [
  { title: 'Plugin', cell: ({ id }) => <code>{id}</code> },
  { title: 'State', cell: PluginState },
  { title: 'Backends', from: 'medium', cell: Backends },
  {
    title: 'Costs',
    align: 'end',
    cell: ({ price, price_per }) => (
      <>
        <Price dollars={price} />
        {price > 0 && price_per && <span class="unit"> a {price_per}</span>}
      </>
    ),
  },
  { title: 'Runs unasked', from: 'medium', cell: Defaults },
]

export function Screen() {
  const { data, problem, reload } = useResource<{ data: Terms }>(TOOLS)
  const terms = data?.data
  return (
    <Page
      title="Tools and plugins"
      lead="What requests may name, as the configuration has it. No request can change a price, a limit or a backend."
    >
      <ProblemNote problem={problem} retry={reload} />
      {terms && (
        <>
          <Section title="Server tools" lead={`At most ${terms.max_calls} calls in one request.`}>
            <Table
              caption="Server tools"
              columns={TOOL_COLUMNS}
              rows={terms.tools}
              keyOf={({ name }) => name}
              empty={null}
            />
          </Section>
          <Section title="Plugins" lead="They run once for a request that names them, or unasked.">
            <Table
              caption="Plugins"
              columns={PLUGIN_COLUMNS}
              rows={terms.plugins}
              keyOf={({ id }) => id}
              empty={null}
            />
          </Section>
        </>
      )}
    </Page>
  )
}

function ToolState({ enabled, needs }: Tool) {
  if (needs !== null) return <Missing setting={needs} />
  return enabled ? <State is="good">on</State> : <State is="quiet">switched off</State>
}

function PluginState({ needs }: Plugin) {
  return needs === null ? <State is="good">on</State> : <Missing setting={needs} />
}

function Missing({ setting }: { setting: string }) {
  return (
    <span class="two-lines">
      <State is="quiet">not set up</State>
      <code class="soft" title={setting}>
        {setting}
      </code>
    </span>
  )
}

function Backends({ backends, needs }: Pick<Tool, 'backends' | 'needs'>) {
  if (backends.length > 0) return <span>{backends.join(', ')}</span>
  return <span class="soft">{needs === null ? 'this\u00a0server' : '–'}</span>
}

function Price({ dollars }: { dollars: number }) {
  return dollars === 0 ? <span class="soft">nothing</span> : <Money dollars={dollars} />
}

function Most({ calls }: { calls: number | null }) {
  return calls === null ? <span class="soft">any number</span> : <Count value={calls} />
}

function Defaults({ defaults }: Plugin) {
  if (defaults.length === 0) return <span class="soft">no</span>
  return (
    <>
      {defaults.map(({ organizations, overridable, options }) => (
        <span key={JSON.stringify([organizations, options])} class="two-lines">
          {organizations === null
            ? 'for all'
            : `for ${organizations.length} organization${organizations.length > 1 ? 's' : ''}`}
          {overridable ? '' : ', whatever a request says'}
          <code class="soft">{JSON.stringify(options)}</code>
        </span>
      ))}
    </>
  )
}
