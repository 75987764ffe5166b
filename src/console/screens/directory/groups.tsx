/** The groups that directories have sent, and who is in them. */

import type { Pages } from '../../api/resource.ts'
import { usePages } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field } from '../../kit/form.tsx'
import { Section } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Count, Id, State, Time } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { GROUPS, type Group, type GroupMember } from './wire.ts'

/** A link in which the group is found also when it is far down in the list. */
export const GROUP: readonly Column<Group>[] = [
  {
    title: 'Group',
    cell: ({ id, display_name }) => (
      <a href={to('directory', null, { q: display_name, group: id })}>{display_name}</a>
    ),
  },
  { title: 'Members', align: 'end', cell: ({ member_count }) => <Count value={member_count} /> },
]

interface GroupsProps {
  readonly groups: Pages<Group>
  /** The name of a connection. */
  readonly nameOf: (connection: string) => string
  /** Called with a group that is to get a role. */
  readonly give: (group: Group) => void
}

export function Groups({ groups, nameOf, give }: GroupsProps) {
  const { query } = place.value
  const shown = query.get('group')
  const columns: readonly Column<Group>[] = [
    ...GROUP,
    {
      title: 'From',
      from: 'medium',
      cell: ({ connection_id }) => (connection_id === null ? 'a program' : nameOf(connection_id)),
    },
    {
      title: 'Actions',
      align: 'end',
      cell: (group) => (
        <button
          type="button"
          class="plain"
          aria-label={`Give ${group.display_name} a role`}
          onClick={() => give(group)}
        >
          Give a role
        </button>
      ),
    },
  ]
  return (
    <Section title="Groups">
      <div class="filters">
        <Field
          label="Find"
          type="search"
          isOptional
          value={query.get('q') ?? ''}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
      </div>
      <PagedTable
        caption="Groups"
        columns={columns}
        pages={groups}
        keyOf={({ id }) => id}
        empty={<p class="soft">No directory has sent a group like that.</p>}
      />
      {shown && (
        <Members
          of={shown}
          name={groups.rows!.find(({ id }) => id === shown)?.display_name ?? shown}
          close={() => setQuery({ group: null })}
        />
      )}
    </Section>
  )
}

const MEMBERS: readonly Column<GroupMember>[] = [
  {
    title: 'Member',
    cell: ({ user_id, user_name, display_name }) =>
      user_name === null ? (
        <Id id={user_id} />
      ) : (
        <a href={to('members', user_id)}>{display_name ?? user_name}</a>
      ),
  },
  {
    title: 'State',
    cell: ({ active }) =>
      active ? (
        <State is="good">active</State>
      ) : (
        <State is="quiet">{active === null ? 'nobody known' : 'deactivated'}</State>
      ),
  },
  { title: 'Since', from: 'medium', cell: ({ added_at }) => added_at && <Time at={added_at} dayOnly /> },
]

function Members({ of, name, close }: { of: string; name: string; close: () => void }) {
  const pages = usePages<GroupMember>(`${GROUPS}/${encodeURIComponent(of)}/members`)
  return (
    <Dialog title={name} close={close} class="wide">
      <PagedTable
        caption="Members of the group"
        columns={MEMBERS}
        pages={pages}
        keyOf={({ user_id }) => user_id}
        empty={<p class="soft">Nobody is in this group.</p>}
      />
    </Dialog>
  )
}
