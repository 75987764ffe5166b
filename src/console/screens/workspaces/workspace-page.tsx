/** One workspace: what belongs to it, its name, and its end. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Confirm, Rename } from '../../kit/dialogs.tsx'
import { Note } from '../../kit/note.tsx'
import { Facts, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { Id, Time } from '../../kit/values.tsx'
import { navigate, to } from '../../shell/location.ts'
import { loadSession, may } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { type KeysOfWorkspace, keysOf, type Workspace, workspacePath } from './wire.ts'

const UP = { href: to('workspaces'), title: 'Workspaces' }

export function WorkspacePage({ id }: { id: string }) {
  const { data, problem, reload, put } = useResource<{ data: Workspace }>(workspacePath(id))
  const keys = useResource<KeysOfWorkspace>(keysOf(id))
  const [dialog, setDialog] = useState<'rename' | 'delete' | null>(null)
  const failed = problem ?? keys.problem
  if (data === undefined || keys.data === undefined) {
    return (
      <Page title="Workspace" up={UP}>
        <ProblemNote problem={failed} retry={problem ? reload : keys.reload} />
      </Page>
    )
  }
  const workspace = data.data
  const close = (): void => setDialog(null)
  return (
    <Page
      title={workspace.name}
      up={UP}
      actions={
        may('management') && (
          <>
            <button type="button" onClick={() => setDialog('rename')}>
              Rename
            </button>
            <button type="button" class="danger" onClick={() => setDialog('delete')}>
              Delete
            </button>
          </>
        )
      }
    >
      <div class="columns">
        <Section
          title="Keys"
          actions={
            <>
              <a class="button" href={to('keys', null, { workspace: id })}>
                Its keys
              </a>
              {may('admin') && (
                <a class="button" href={to('members', null, { workspace: id })}>
                  Its members
                </a>
              )}
            </>
          }
        >
          <p class="soft">
            <KeysSentence of={keys.data} />
          </p>
        </Section>
        <Section title="About">
          <Facts
            rows={{
              Id: <Id id={workspace.id} />,
              Created: <Time at={workspace.created_at} />,
            }}
          />
        </Section>
      </div>
      {dialog === 'rename' && (
        <Rename
          title="Rename the workspace"
          name={workspace.name}
          send={(name) => call<{ data: Workspace }>('PATCH', workspacePath(id), { body: { name } })}
          done={(answer) => {
            put(answer)
            void loadSession()
          }}
          close={close}
        />
      )}
      {dialog === 'delete' && keys.data.data.length > 0 && (
        <KeptByKeys of={workspace} keys={keys.data} close={close} />
      )}
      {dialog === 'delete' && keys.data.data.length === 0 && (
        <Confirm
          title={`Delete ${workspace.name}?`}
          submit="Delete"
          send={() => call('DELETE', workspacePath(id))}
          done={() => {
            tell(`${workspace.name} is deleted`)
            void loadSession()
            navigate(to('workspaces'))
          }}
          close={close}
        >
          No key belongs to it any more. What models remembered in it is deleted with it; what its keys have
          spent stays in the ledger. Files, roles and provider keys in it (by {'DELETE /provider-keys/{id}'})
          have to go first.
        </Confirm>
      )}
    </Page>
  )
}

/** As many names as a sentence bears. */
const NAMED = 5

function KeysSentence({ of: { data } }: { of: KeysOfWorkspace }) {
  if (data.length === 0) return <>No key belongs to this workspace.</>
  const names = data.slice(0, NAMED).map(({ name }) => name)
  return (
    <>
      {names.join(', ')}
      {data.length > NAMED && ' and more'}
    </>
  )
}

interface KeptByKeysProps {
  readonly of: Workspace
  readonly keys: KeysOfWorkspace
  readonly close: () => void
}

/** A workspace never takes keys with it: they would stop working without a word. */
function KeptByKeys({ of: { id, name }, keys, close }: KeptByKeysProps) {
  return (
    <Dialog title={`${name} has keys`} close={close}>
      <Note is="attention">
        A workspace with keys is not deleted, so that no program stops without a word. Delete its keys first:{' '}
        <KeysSentence of={keys} />.
      </Note>
      <div class="form-actions">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <a class="button primary" href={to('keys', null, { workspace: id })}>
          Its keys
        </a>
      </div>
    </Dialog>
  )
}
