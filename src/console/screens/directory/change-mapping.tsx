/** A change of what a group gives: first who gains and who loses by it, then the change itself. */
import { useState } from 'preact/hooks'
import { call, queryOf } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, Select, textIn } from '../../kit/form.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { workspaceName } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { MAPPINGS, type Mapping, mappingPath, type Trial } from './wire.ts'

/** What can become of a mapping, in the words of the form. */
const CHANGES = [
  ['member', 'give the role member'],
  ['admin', 'give the role admin'],
  ['remove', 'take the role away'],
  ['keep', 'take the role from the group, its members keep it'],
] as const

type Change = (typeof CHANGES)[number][0]

const COLUMNS: readonly Column<Trial['data'][number]>[] = [
  { title: 'Member', cell: ({ user_id, user_name }) => user_name ?? user_id },
  { title: 'Now', cell: ({ role_before }) => role_before ?? <span class="soft">no role</span> },
  { title: 'Then', cell: ({ role_after }) => role_after ?? <span class="soft">no role</span> },
]

interface ChangeMappingProps {
  readonly of: Mapping
  readonly group: string
  readonly close: () => void
  readonly changed: () => void
}

export function ChangeMapping({ of, group, close, changed }: ChangeMappingProps) {
  const [tried, setTried] = useState<{ readonly change: Change; readonly trial: Trial } | null>(null)
  const { id, role, workspace_id } = of
  const title = `${group} in ${workspaceName(workspace_id)}`
  if (tried === null) {
    return (
      <Dialog title={title} close={close}>
        <Form
          submit="See who gains and loses"
          cancel={close}
          send={async (fields) => {
            const change = textIn(fields, 'change') as Change
            const outcome = await call<Trial>('POST', `${MAPPINGS}/dry-run`, { body: trialOf(id, change) })
            return outcome.ok ? { ...outcome, data: { change, trial: outcome.data } } : outcome
          }}
          done={setTried}
        >
          <Select
            label="The group is to"
            name="change"
            options={CHANGES.filter(([change]) => change !== role)}
          />
        </Form>
      </Dialog>
    )
  }
  const { change, trial } = tried
  const unshown = trial.total_count - trial.data.length
  return (
    <Dialog title={title} close={close} class="wide">
      <Form
        submit={change === 'remove' || change === 'keep' ? 'Take it away' : 'Change the role'}
        isDangerous={trial.losses > 0}
        cancel={close}
        send={() => apply(id, change)}
        done={() => {
          tell('What the group gives is changed')
          changed()
        }}
      >
        <p>
          {trial.gains} gain and {trial.losses} lose by it{unshown > 0 && `; the first ${trial.data.length}`}:
        </p>
        <Table
          caption="Who gains and who loses"
          columns={COLUMNS}
          rows={trial.data}
          keyOf={({ user_id }) => user_id}
          empty={<p class="soft">Nobody's role would become another one.</p>}
        />
      </Form>
    </Dialog>
  )
}

function trialOf(id: string, change: Change) {
  if (change === 'remove' || change === 'keep') return { remove: { id, keep_members: change === 'keep' } }
  return { change: { id, role: change } }
}

function apply(id: string, change: Change) {
  if (change === 'remove' || change === 'keep')
    return call('DELETE', mappingPath(id) + queryOf({ keep_members: change === 'keep' }))
  return call('PATCH', mappingPath(id), { body: { role: change } })
}
