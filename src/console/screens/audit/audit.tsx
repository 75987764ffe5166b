/** The audit: who has changed identity records, and what became of every exchange and sign-in. */
import { Select } from '../../kit/form.tsx'
import { Page } from '../../kit/page.tsx'
import { place, setQuery } from '../../shell/location.ts'
import { AuditList } from './audit-list.tsx'

const TRAILS = [
  ['', 'The latest of all'],
  ['changes', 'Changes'],
  ['issued', 'Issued tokens'],
  ['refused', 'Refusals'],
] as const

export function Screen() {
  const trail = place.value.query.get('trail') ?? ''
  return (
    <Page title="Audit" lead="Changes of identity records, exchanges of tokens and sign-ins, newest first.">
      <div class="filters">
        <Select
          label="Show"
          value={trail}
          options={TRAILS}
          onChange={(event) => setQuery({ trail: event.currentTarget.value })}
        />
      </div>
      <AuditList trail={trail} />
    </Page>
  )
}
