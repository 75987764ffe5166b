/** What a group is to give: first who gains and who loses by it, then the change itself. */
import { useState } from 'preact/hooks'
import { call, type Outcome, queryOf } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Select } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { workspaceName } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { RoleFields } from '../members/member-roles.tsx'
import { MAPPINGS, type Mapping, mappingPath, type Trial } from './wire.ts'

/** What can become of a mapping, in the words of the form. */
const CHANGES = [
  ['member', 'give the role member'],
  ['admin', 'give the role admin'],
  ['remove', 'take the role away'],
  ['keep', 'take the role from the group, its members keep it'],
] as const

const COLUMNS: readonly Column<Trial['data'][number]>[] = [
  { title: 'Member', cell: ({ user_id, user_name }) => user_name ?? user_id },
  { title: 'Now', cell: ({ role_before }) => role_before ?? <span class="soft">no role</span> },
  { title: 'Then', cell: ({ role_after }) => role_after ?? <span class="soft">no role</span> },
]

/** What a group gives already, or is to give. */
export interface Gift {
  /** Of the group. */
  readonly name: string
  /** Of the group; asked for when it is absent. */
  readonly group?: string
  /** What it gives now; a role is given anew without it. */
  readonly mapping?: Mapping
}

/** A change that can be tried, and then made. */
interface Wish {
  readonly trial: object
  readonly submit: string
  readonly apply: () => Promise<Outcome<unknown>>
}

interface ChangeMappingProps {
  readonly of: Gift
  readonly close: () => void
  readonly changed: () => void
}

export function ChangeMapping({ of, close, changed }: ChangeMappingProps) {
  const [tried, setTried] = useState<(Wish & { readonly found: Trial }) | null>(null)
  const { name, group, mapping } = of
  const title = mapping ? `${name} in ${workspaceName(mapping.workspace_id)}` : `Give ${name} a role`
  if (tried === null) {
    return (
      <Dialog title={title} close={close}>
        <Form
          submit="See who gains and loses"
          cancel={close}
          send={async (fields) => {
            const wish = mapping ? changeIn(fields, mapping) : giftIn(fields, group)
            const outcome = await call<Trial>('POST', `${MAPPINGS}/dry-run`, { body: wish.trial })
            return outcome.ok ? { ...outcome, data: { ...wish, found: outcome.data } } : outcome
          }}
          done={setTried}
        >
          {mapping ? (
            <Select
              label="The group is to"
              name="change"
              options={CHANGES.filter(([change]) => change !== mapping.role)}
            />
          ) : (
            <>
              {!group && (
                <Field
                  label="SCIM id of the group"
                  name="group"
                  maxLength={36}
                  hint="A group that was not delivered yet gives the role as soon as it comes."
                />
              )}
              <RoleFields />
            </>
          )}
        </Form>
      </Dialog>
    )
  }
  const { submit, apply, found } = tried
  const unshown = found.total_count - found.data.length
  return (
    <Dialog title={title} close={close} class="wide">
      <Form
        submit={submit}
        isDangerous={found.losses > 0}
        cancel={close}
        send={apply}
        done={() => {
          tell('What the group gives is changed')
          changed()
        }}
      >
        <p>
          {found.gains} gain and {found.losses} lose by it{unshown > 0 && `; the first ${found.data.length}`}:
        </p>
        <Table
          caption="Who gains and who loses"
          columns={COLUMNS}
          rows={found.data}
          keyOf={({ user_id }) => user_id}
          empty={<p class="soft">Nobody’s role would become another one.</p>}
        />
      </Form>
    </Dialog>
  )
}

function giftIn(fields: FormData, group = textIn(fields, 'group')): Wish {
  const create = {
    scim_group_id: group,
    workspace_id: textIn(fields, 'workspace'),
    role: textIn(fields, 'role'),
  }
  return {
    trial: { create },
    submit: 'Give the role',
    apply: () => call('POST', MAPPINGS, { body: create }),
  }
}

function changeIn(fields: FormData, { id }: Mapping): Wish {
  const role = textIn(fields, 'change')
  const keep_members = role === 'keep'
  if (keep_members || role === 'remove')
    return {
      trial: { remove: { id, keep_members } },
      submit: 'Take it away',
      apply: () => call('DELETE', mappingPath(id) + queryOf({ keep_members })),
    }
  return {
    trial: { change: { id, role } },
    submit: 'Change the role',
    apply: () => call('PATCH', mappingPath(id), { body: { role } }),
  }
}
