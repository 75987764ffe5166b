/** What the identity provider has asked last, and how often it was understood although the standard has it otherwise. */
import type { Pages } from '../../api/resource.ts'
import { Section } from '../../kit/page.tsx'
import { type Column, PagedTable, Table } from '../../kit/table.tsx'
import { Count, State, Time } from '../../kit/values.tsx'
import type { Asked, Quirk } from './wire.ts'

const ASKED: readonly Column<Asked>[] = [
  { title: 'Time', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'Request',
    cell: ({ method, target }) => (
      <code class="breakable">
        {method} {target}
      </code>
    ),
  },
  {
    title: 'Answer',
    cell: ({ status, scim_type }) => (
      <State is={status < 400 ? 'good' : 'attention'}>{[status, scim_type].filter(Boolean).join(' ')}</State>
    ),
  },
  {
    title: 'Quirks',
    from: 'wide',
    cell: ({ quirks }) => quirks.join(', ') || <span class="soft">none</span>,
  },
]

const QUIRKS: readonly Column<Quirk>[] = [
  { title: 'Quirk', cell: ({ name }) => <code>{name}</code> },
  { title: 'What is done', cell: ({ done }) => done ?? <span class="soft">nothing</span> },
  { title: 'Times', align: 'end', cell: ({ count }) => <Count value={count} /> },
]

/** The requests come last: they go on as they are scrolled. */
export function Traffic({ asked, quirks }: { asked: Pages<Asked>; quirks: readonly Quirk[] }) {
  return (
    <>
      {quirks.length > 0 && (
        <Section title="Quirks" lead="What was understood although the standard has it otherwise.">
          <Table caption="Quirks" columns={QUIRKS} rows={quirks} keyOf={({ name }) => name} empty={null} />
        </Section>
      )}
      <Section title="Last requests">
        <PagedTable
          caption="Last requests"
          columns={ASKED}
          pages={asked}
          keyOf={({ id }) => id}
          empty={<p class="soft">Nothing was asked yet.</p>}
        />
      </Section>
    </>
  )
}
