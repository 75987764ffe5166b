/** The roles of a member: given, taken away, and told why. */
import { useState } from 'preact/hooks'
import { call, queryOf } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Confirm } from '../../kit/dialogs.tsx'
import { Select } from '../../kit/fields.tsx'
import { Form, textIn } from '../../kit/form.tsx'
import { Empty } from '../../kit/note.tsx'
import { ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Id, State, Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { may, session, workspaceName } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { type Member, memberPath, type Reason, type Reasons, ROLES, rolePath } from './wire.ts'

interface MemberRolesProps {
  readonly of: Member
  readonly changed: () => void
}

type Held = Member['roles'][number]

export function MemberRoles({ of: member, changed }: MemberRolesProps) {
  const [isGiving, setGiving] = useState(false)
  /** The workspace whose role is told. */
  const [why, setWhy] = useState<string | null>(null)
  const columns: readonly Column<Held>[] = [
    {
      title: 'Workspace',
      cell: ({ workspace_id }) => <a href={to('workspaces', workspace_id)}>{workspaceName(workspace_id)}</a>,
    },
    { title: 'Role', cell: ({ role }) => role },
    {
      title: 'Why',
      align: 'end',
      cell: ({ workspace_id }) => (
        <button
          type="button"
          class="plain"
          aria-label={`Why this role in ${workspaceName(workspace_id)}`}
          onClick={() => setWhy(workspace_id)}
        >
          Why
        </button>
      ),
    },
  ]
  const close = (): void => setGiving(false)
  return (
    <Section
      title="Roles"
      lead="The highest of what was given directly and what groups give, in each workspace."
      actions={
        may('management') && (
          <button type="button" onClick={() => setGiving(true)}>
            Give a role
          </button>
        )
      }
    >
      <Table
        caption="Roles"
        columns={columns}
        rows={member.roles}
        keyOf={({ workspace_id }) => workspace_id}
        empty={<p class="soft">No role, so no workspace is open to this person.</p>}
      />
      {isGiving && (
        <Dialog title="Give a role" close={close}>
          <Form
            submit="Give"
            cancel={close}
            send={(fields) =>
              call('PUT', rolePath(member.id, textIn(fields, 'workspace')), {
                body: { role: textIn(fields, 'role') },
              })
            }
            done={() => {
              tell('The role is given')
              close()
              changed()
            }}
          >
            <RoleFields />
          </Form>
        </Dialog>
      )}
      {why !== null && <Why member={member} workspace={why} close={() => setWhy(null)} changed={changed} />}
    </Section>
  )
}

const REASONS: readonly Column<Reason>[] = [
  { title: 'Role', cell: ({ role }) => role },
  {
    title: 'By',
    cell: ({ by, group_name, scim_group_id, held }) => (
      <span class="two-lines">
        {by === 'direct' ? 'given directly' : `group ${group_name ?? scim_group_id}`}
        {held && <State is="attention">its end waits for approval</State>}
      </span>
    ),
  },
  { title: 'Since', from: 'medium', cell: ({ since }) => <Time at={since} dayOnly /> },
  {
    title: 'Author',
    from: 'medium',
    cell: ({ author }) => (author === null ? <span class="soft">unknown</span> : <Id id={author} />),
  },
]

interface WhyProps {
  readonly member: Member
  readonly workspace: string
  readonly close: () => void
  readonly changed: () => void
}

function Why({ member, workspace, close, changed }: WhyProps) {
  const path = `${memberPath(member.id)}/why${queryOf({ workspace_id: workspace })}`
  const { data, problem, reload } = useResource<{ data: Reasons }>(path)
  const [isTaking, setTaking] = useState(false)
  const reasons = data?.data.reasons
  const where = workspaceName(workspace)
  if (isTaking) {
    return (
      <Confirm
        title={`Take the direct role in ${where} away?`}
        submit="Take it away"
        send={() => call('DELETE', rolePath(member.id, workspace))}
        done={() => {
          tell('The direct role is taken away')
          close()
          changed()
        }}
        close={close}
      >
        What groups give stays. Without any role, the keys of this person in the workspace are refused until
        there is one again.
      </Confirm>
    )
  }
  return (
    <Dialog title={`Role in ${where}`} close={close} class="wide">
      <ProblemNote problem={problem} retry={reload} />
      {!problem && (
        <Table
          caption="Reasons"
          columns={REASONS}
          rows={reasons}
          keyOf={({ by, scim_group_id, role }) => `${by} ${scim_group_id} ${role}`}
          empty={<Empty title="Nothing gives a role here any more" />}
        />
      )}
      <div class="form-actions">
        {reasons?.some(({ by }) => by === 'direct') && (
          <button type="button" class="danger" onClick={() => setTaking(true)}>
            Take the direct role away
          </button>
        )}
        <button type="button" class="primary" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

/** In which workspace, and what: of a member, or of the members of a group. */
export function RoleFields() {
  return (
    <div class="fields">
      <Select
        label="Workspace"
        name="workspace"
        options={session.value!.workspaces.map(({ id, name }) => [id, name])}
      />
      <Select label="Role" name="role" options={ROLES} />
    </div>
  )
}
