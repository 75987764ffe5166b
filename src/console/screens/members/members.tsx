/** Members: the list, the page of one, what a role may do, and how they sign in. */
import { call, queryOf } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Select } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { State, Time } from '../../kit/values.tsx'
import { navigate, place, setQuery, to } from '../../shell/location.ts'
import { may, session, workspaceName } from '../../shell/session.ts'
import { postCommand } from '../command.ts'
import type { ScreenProps } from '../screen.ts'
import { MemberPage } from './member-page.tsx'
import { RightsPage } from './rights-page.tsx'
import { SignInPage } from './sign-in-page.tsx'
import { MEMBERS, type Member } from './wire.ts'

/** In the place of an id, which is always a UUID. */
const RIGHTS = 'rights'
const SIGN_IN = 'sign-in'

export function Screen({ id }: ScreenProps) {
  if (id === null) return <MemberList />
  if (id === SIGN_IN) return <SignInPage />
  return id === RIGHTS ? <RightsPage /> : <MemberPage id={id} />
}

const COLUMNS: readonly Column<Member>[] = [
  {
    title: 'Name',
    cell: ({ id, user_name, display_name }) => (
      <a class="two-lines" href={to('members', id)}>
        {display_name ?? user_name}
        {display_name !== null && <code class="soft">{user_name}</code>}
      </a>
    ),
  },
  {
    title: 'State',
    cell: ({ active }) => (active ? <State is="good">active</State> : <State is="quiet">deactivated</State>),
  },
  {
    title: 'Roles',
    from: 'medium',
    cell: ({ roles }) =>
      roles.length === 0 ? (
        <span class="soft">none</span>
      ) : (
        roles.map(({ workspace_id, role }) => `${role} in ${workspaceName(workspace_id)}`).join(', ')
      ),
  },
  {
    title: 'From',
    from: 'medium',
    cell: ({ connection_id }) => (connection_id === null ? 'by hand' : 'a directory'),
  },
  { title: 'Since', from: 'wide', cell: ({ created_at }) => <Time at={created_at} dayOnly /> },
]

function MemberList() {
  const workspace = place.value.query.get('workspace') ?? ''
  const pages = usePages<Member>(`${MEMBERS}${queryOf({ workspace_id: workspace })}`)
  const close = (): void => setQuery({ new: null })
  return (
    <Page
      title="Members"
      lead="The people of the organization. A role opens a workspace to a person; without one nothing is open."
      actions={
        <>
          <a class="button" href={to('members', RIGHTS)}>
            What a role may do
          </a>
          {may('management') && (
            <a class="button" href={to('members', SIGN_IN)}>
              Sign-in
            </a>
          )}
          {may('management') && (
            <button type="button" class="primary" onClick={() => setQuery({ new: 'member' })}>
              <Icon name="plus" /> Add a member
            </button>
          )}
        </>
      }
    >
      <div class="filters">
        <Select
          label="Workspace"
          value={workspace}
          options={[
            ['', 'All workspaces'],
            ...session.value!.workspaces.map(({ id, name }) => [id, name] as const),
          ]}
          onChange={(event) => setQuery({ workspace: event.currentTarget.value })}
        />
      </div>
      <PagedTable
        caption="Members"
        columns={COLUMNS}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty
            title={workspace === '' ? 'No members yet' : 'Nobody has a role in this workspace'}
            command={postCommand('members', { user_name: 'ada@example.com' })}
          >
            A directory delivers members, and who is in none is added by hand.
          </Empty>
        }
      />
      {place.value.query.get('new') === 'member' && (
        <Dialog title="Add a member" close={close}>
          <Form
            submit="Add"
            cancel={close}
            send={(fields) =>
              call<{ data: Member }>('POST', MEMBERS, {
                body: {
                  user_name: textIn(fields, 'user_name'),
                  display_name: textIn(fields, 'display_name') || null,
                  external_id: textIn(fields, 'external_id') || null,
                },
              })
            }
            done={({ data }) => navigate(to('members', data.id))}
          >
            <div class="fields">
              <Field label="User name" name="user_name" maxLength={256} autofocus />
              <Field label="Shown as" name="display_name" maxLength={256} isOptional />
            </div>
            <Field
              label="Subject"
              name="external_id"
              maxLength={256}
              isOptional
              hint="How the provider of the sign-in calls the person: the claim sub, or oid of Entra."
            />
          </Form>
        </Dialog>
      )}
    </Page>
  )
}
