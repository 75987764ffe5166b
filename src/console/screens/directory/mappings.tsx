/** What groups of directories give; a change of it is tried before it is made. */
import type { Pages } from '../../api/resource.ts'
import { Section } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { workspaceName } from '../../shell/session.ts'
import type { Gift } from './change-mapping.tsx'
import type { Mapping } from './wire.ts'

interface MappingsProps {
  readonly mappings: Pages<Mapping>
  /** Called with what is to be changed. */
  readonly change: (gift: Gift) => void
}

export function Mappings({ mappings, change }: MappingsProps) {
  const columns: readonly Column<Mapping>[] = [
    { title: 'Group', cell: nameOf },
    {
      title: 'Gives',
      cell: ({ role, workspace_id }) => (
        <>
          {role} in <a href={to('workspaces', workspace_id)}>{workspaceName(workspace_id)}</a>
        </>
      ),
    },
    { title: 'Changed', from: 'wide', cell: ({ updated_at }) => <Time at={updated_at} dayOnly /> },
    {
      title: 'Audit',
      cell: ({ id }) => <a href={to('audit', null, { trail: 'directory', mapping: id })}>its changes</a>,
    },
    {
      title: 'Actions',
      align: 'end',
      cell: (mapping) => (
        <button
          type="button"
          class="plain"
          aria-label={`Change the role of ${nameOf(mapping)}`}
          onClick={() => change({ name: nameOf(mapping), mapping })}
        >
          Change
        </button>
      ),
    },
  ]
  return (
    <Section
      title="What groups give"
      lead="A change counts from the next call of the members on."
      actions={
        <button type="button" onClick={() => change({ name: 'a group' })}>
          Give a group a role
        </button>
      }
    >
      <PagedTable
        caption="Group mappings"
        columns={columns}
        pages={mappings}
        keyOf={({ id }) => id}
        empty={<p class="soft">No group gives a role yet.</p>}
      />
    </Section>
  )
}

function nameOf({ group_name, scim_group_id }: Mapping): string {
  return group_name ?? scim_group_id
}
