/** What has happened, newest first: changes of identity records and of directories, exchanges of tokens and sign-ins. */
import { queryOf } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Empty } from '../../kit/note.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Id, State, Time } from '../../kit/values.tsx'
import { place, to } from '../../shell/location.ts'
import { connectionPath } from '../directory/wire.ts'

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

/** Of a directory; what its identity provider has changed is told in other members. */
interface Change extends Entry {
  readonly at?: string
  readonly scim_group_id: string | null
  readonly user_ids?: readonly string[]
  readonly member_ids?: readonly string[]
  readonly role_before?: string | null
  readonly role_after?: string | null
}

const COLUMNS: readonly Column<Change>[] = [
  {
    title: 'Time',
    cell: ({ at, created_at }) => (
      <span class="when">
        <Time at={at ?? created_at} />
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
  {
    title: 'By',
    from: 'medium',
    // A subject in full: those of one platform begin and end alike.
    cell: ({ actor }) => (actor?.includes(':') ? <code class="whole">{actor}</code> : idOr(actor)),
  },
  { title: 'Address', from: 'wide', cell: ({ address }) => address ?? NONE },
  { title: 'Request', from: 'wide', cell: ({ request_id }) => idOr(request_id) },
]

const OF_DIRECTORY: readonly Column<Change>[] = [
  ...COLUMNS.slice(0, 2),
  {
    title: 'Role',
    cell: ({ role_before, role_after }) =>
      role_before === role_after ? NONE : `${role_before ?? 'none'} → ${role_after ?? 'none'}`,
  },
  { title: 'Group', from: 'medium', cell: ({ scim_group_id }) => idOr(scim_group_id) },
  {
    title: 'Members',
    from: 'medium',
    cell: ({ user_ids, member_ids }) => {
      const ids = user_ids ?? member_ids ?? []
      return ids.length > 1 ? ids.length : idOr(ids[0] ?? null)
    },
  },
  ...COLUMNS.slice(4),
]

const NONE = <span class="soft">none</span>

const idOr = (id: string | null, href?: string) =>
  id === null ? NONE : <Id id={id} {...(href && { href })} />

/**
 * `trail`: what kind of it; all of workload identity, with an end after the latest thousand, where it is empty. What is
 * of directories may be of the connection or the mapping that the address names.
 */
export function AuditList({ trail }: { trail: string }) {
  const { query } = place.value
  const connection = query.get('connection')
  const isOfDirectory = trail === 'directory'
  const pages = usePages<Change>(
    !isOfDirectory
      ? `api/v1/federation/audit${queryOf({ trail })}`
      : connection
        ? `${connectionPath(connection)}/audit`
        : `api/v1/scim/audit${queryOf({ mapping_id: query.get('mapping') })}`,
  )
  return (
    <PagedTable
      caption="Audit"
      columns={isOfDirectory ? OF_DIRECTORY : COLUMNS}
      pages={pages}
      keyOf={({ id }) => id}
      empty={<Empty title="Nothing has happened yet">Changes, exchanges and sign-ins appear here.</Empty>}
    />
  )
}
