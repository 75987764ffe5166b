/** The audit: who has changed identity records and directories, and what became of every exchange and sign-in. */
import { Select } from '../../kit/fields.tsx'
import { Page } from '../../kit/page.tsx'
import { Id } from '../../kit/values.tsx'
import { place, setQuery } from '../../shell/location.ts'
import { AuditList } from './audit-list.tsx'

const TRAILS = [
  ['', 'The latest of all'],
  ['changes', 'Changes'],
  ['issued', 'Issued tokens'],
  ['refused', 'Refusals'],
  ['directory', 'Directories'],
] as const

export function Screen() {
  const { query } = place.value
  const trail = query.get('trail') ?? ''
  const of = query.get('connection') ?? query.get('mapping')
  return (
    <Page
      title="Audit"
      beside={of && <Id id={of} />}
      lead="Changes of identity records and directories, exchanges of tokens and sign-ins, newest first."
    >
      <div class="filters">
        <Select
          label="Show"
          value={trail}
          options={TRAILS}
          onChange={(event) =>
            setQuery({ trail: event.currentTarget.value, connection: null, mapping: null })
          }
        />
      </div>
      <AuditList key={trail} trail={trail} />
    </Page>
  )
}
