/** Workspaces: the list, and the page of one. */
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page, ProblemNote } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Id, Time } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { loadSession, may, session } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import type { ScreenProps } from '../screen.ts'
import { WORKSPACES, type Workspace } from './wire.ts'
import { WorkspacePage } from './workspace-page.tsx'

export function Screen({ id }: ScreenProps) {
  return id === null ? <WorkspaceList /> : <WorkspacePage id={id} />
}

/** Management has no role in a workspace: it has them all. */
const columns = (): readonly Column<Workspace>[] => [
  { title: 'Name', cell: ({ id, name }) => <a href={to('workspaces', id)}>{name}</a> },
  ...(may('management') ? [] : [{ title: 'Your role', cell: ({ id }: Workspace) => roleIn(id) }]),
  { title: 'Keys', cell: ({ id }) => <a href={to('keys', null, { workspace: id })}>its keys</a> },
  ...(may('admin') ? [MEMBERS] : []),
  { title: 'Id', from: 'medium', cell: ({ id }) => <Id id={id} /> },
  { title: 'Created', from: 'wide', cell: ({ created_at }) => <Time at={created_at} dayOnly /> },
]

const MEMBERS: Column<Workspace> = {
  title: 'Members',
  cell: ({ id }) => <a href={to('members', null, { workspace: id })}>its members</a>,
}

function roleIn(id: string): string {
  return session.value!.workspaces.find((each) => each.id === id)?.role ?? 'none'
}

function WorkspaceList() {
  const { data, problem, reload } = useResource<{ data: readonly Workspace[] }>(WORKSPACES)
  const close = (): void => setQuery({ new: null })
  return (
    <Page
      title="Workspaces"
      lead="A workspace holds keys, provider keys and files apart from the others of the organization. Roles are had in a workspace."
      actions={
        may('management') && (
          <button type="button" class="primary" onClick={() => setQuery({ new: 'workspace' })}>
            <Icon name="plus" /> Create a workspace
          </button>
        )
      }
    >
      <ProblemNote problem={problem} retry={reload} />
      {(data || !problem) && (
        <Table
          caption="Workspaces"
          columns={columns()}
          rows={data?.data}
          keyOf={({ id }) => id}
          empty={<Empty title="No workspace is open to you">An admin gives you a role in one.</Empty>}
        />
      )}
      {place.value.query.get('new') === 'workspace' && (
        <Dialog title="Create a workspace" close={close}>
          <Form
            submit="Create"
            cancel={close}
            send={(fields) => call('POST', WORKSPACES, { body: { name: textIn(fields, 'name') } })}
            done={() => {
              tell('The workspace is made')
              close()
              reload()
              void loadSession()
            }}
          >
            <Field label="Name" name="name" maxLength={256} autofocus />
          </Form>
        </Dialog>
      )}
    </Page>
  )
}
