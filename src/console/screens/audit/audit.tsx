/** The audit: who has changed identity records, and what became of every exchange and sign-in, newest first. */
import { usePages } from '../../api/resource.ts'
import { Empty, Page } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Id, State, Time } from '../../kit/values.tsx'

interface Entry {
  readonly id: string
  readonly created_at: string
  readonly action: string
  readonly actor: string | null
  readonly outcome: string
  readonly reason: string | null
  readonly request_id: string | null
  readonly address: string | null
}

const COLUMNS: readonly Column<Entry>[] = [
  {
    title: 'Time',
    cell: ({ created_at }) => (
      <span class="when">
        <Time at={created_at} />
      </span>
    ),
  },
  { title: 'Action', cell: ({ action }) => <code>{action}</code> },
  { title: 'Outcome', cell: (entry) => <Outcome of={entry} /> },
  { title: 'By', from: 'medium', cell: ({ actor }) => (actor === null ? <None /> : <Id id={actor} />) },
  { title: 'Address', from: 'wide', cell: ({ address }) => address ?? <None /> },
  {
    title: 'Request',
    from: 'wide',
    cell: ({ request_id }) => (request_id === null ? <None /> : <Id id={request_id} />),
  },
]

export function Screen() {
  const pages = usePages<Entry>('api/v1/federation/audit')
  return (
    <Page title="Audit" lead="Changes of identity records, exchanges of tokens and sign-ins, newest first.">
      <PagedTable
        caption="Audit"
        columns={COLUMNS}
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty title="Nothing has happened yet">Changes, exchanges and sign-ins appear here.</Empty>}
      />
    </Page>
  )
}

function Outcome({ of: { outcome, reason } }: { of: Entry }) {
  const isGood = outcome === 'done' || outcome === 'issued'
  return (
    <span title={reason ?? undefined}>
      <State is={isGood ? 'good' : 'attention'}>{reason ?? outcome}</State>
    </span>
  )
}

function None() {
  return <span class="soft">none</span>
}
