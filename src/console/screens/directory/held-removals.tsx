/** Removals from groups that take no role away until somebody approves them. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import type { Pages } from '../../api/resource.ts'
import { Confirm } from '../../kit/dialogs.tsx'
import { Section } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Id, Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { tell } from '../../shell/toasts.tsx'
import type { Removal } from './wire.ts'

const COLUMNS: readonly Column<Removal>[] = [
  { title: 'Member', cell: ({ member_id }) => <Id id={member_id} href={to('members', member_id)} /> },
  { title: 'Group', from: 'medium', cell: ({ scim_group_id }) => <Id id={scim_group_id} /> },
  { title: 'Removed', cell: ({ removed_at }) => <Time at={removed_at} /> },
]

interface HeldRemovalsProps {
  /** Of the connection. */
  readonly path: string
  readonly held: Pages<Removal>
}

export function HeldRemovals({ path, held }: HeldRemovalsProps) {
  const [isApproving, setApproving] = useState(false)
  const count = held.total!.toLocaleString('en-US')
  if (held.total === 0) return null
  return (
    <Section
      title="Removals that wait"
      lead={`The directory has removed more people from groups than is usual: ${count} keep what the group gives until it is approved here, or until the directory puts them back.`}
      actions={
        <button type="button" class="danger" onClick={() => setApproving(true)}>
          Approve all
        </button>
      }
    >
      <PagedTable
        caption="Removals that wait"
        columns={COLUMNS}
        pages={held}
        keyOf={({ scim_group_id, member_id }) => `${scim_group_id} ${member_id}`}
        empty={null}
      />
      {isApproving && (
        <Confirm
          title="Approve all removals?"
          submit="Approve"
          send={() => call('POST', `${path}/held/approve`, { body: {} })}
          done={() => {
            tell('The removals count')
            setApproving(false)
            held.reload()
          }}
          close={() => setApproving(false)}
        >
          {`${count} removals take effect at once: what the group gave is gone from the next call on.`}
        </Confirm>
      )}
    </Section>
  )
}
