/** What has happened, newest first: changes of identity records, exchanges of tokens and sign-ins. */
import { queryOf } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Empty } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Id, State, Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'

interface Entry {
  readonly id: string
  readonly created_at: string
  readonly action: string
  readonly actor: string | null
  readonly outcome: string
  readonly reason: string | null
  readonly request_id: string | null
  readonly address: string | null
  readonly policy_id: string | null
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
  {
    title: 'Outcome',
    cell: ({ outcome, reason }) => (
      <State is={outcome === 'done' || outcome === 'issued' ? 'good' : 'attention'}>
        {reason ?? outcome}
      </State>
    ),
  },
  {
    title: 'Policy',
    from: 'medium',
    cell: ({ policy_id: id }) => idOr(id, id === null ? undefined : to('workload-identity', id)),
  },
  { title: 'By', from: 'medium', cell: ({ actor }) => idOr(actor) },
  { title: 'Address', from: 'wide', cell: ({ address }) => address ?? NONE },
  { title: 'Request', from: 'wide', cell: ({ request_id }) => idOr(request_id) },
]

const NONE = <span class="soft">none</span>

const idOr = (id: string | null, href?: string) =>
  id === null ? NONE : <Id id={id} {...(href && { href })} />

/** `trail`: what kind of it; all, with an end after the latest thousand, where it is empty. */
export function AuditList({ trail }: { trail: string }) {
  const pages = usePages<Entry>(`api/v1/federation/audit${queryOf({ trail })}`)
  return (
    <PagedTable
      caption="Audit"
      columns={COLUMNS}
      pages={pages}
      keyOf={({ id }) => id}
      empty={<Empty title="Nothing has happened yet">Changes, exchanges and sign-ins appear here.</Empty>}
    />
  )
}
