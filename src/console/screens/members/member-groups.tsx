/** The groups of a person; what they give is among its roles. */
import { queryOf } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Section } from '../../kit/page.tsx'
import { PagedTable } from '../../kit/table.tsx'
import { GROUP } from '../directory/groups.tsx'
import { GROUPS, type Group } from '../directory/wire.ts'

export function MemberGroups({ of }: { of: string }) {
  const pages = usePages<Group>(GROUPS + queryOf({ user_id: of }))
  return (
    <Section title="Groups" lead="What they give is among the roles; Why tells by which.">
      <PagedTable
        caption="Groups"
        columns={GROUP}
        pages={pages}
        keyOf={({ id }) => id}
        empty={<p class="soft">No group names this person.</p>}
      />
    </Section>
  )
}
