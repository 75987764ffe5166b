/** A new key. Its text is in this dialog alone, and gone with it. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field, Form, Select, textIn } from '../../kit/form.tsx'
import { Note } from '../../kit/page.tsx'
import { Code } from '../../kit/values.tsx'
import { session } from '../../shell/session.ts'
import { LimitFields, limitsIn } from './limit-fields.tsx'
import { type CreatedKey, KEYS } from './wire.ts'

interface CreateKeyProps {
  /** The one that is chosen in the list. */
  readonly workspace: string
  readonly close: () => void
  readonly created: () => void
}

export function CreateKey({ workspace, close, created }: CreateKeyProps) {
  const [key, setKey] = useState<CreatedKey | null>(null)
  if (key !== null) return <ShownOnce created={key} close={close} />
  const { workspaces } = session.value!
  const send = (fields: FormData) => {
    // The day is that of here, and still counts.
    const day = textIn(fields, 'expires')
    const workspace = textIn(fields, 'workspace')
    return call<CreatedKey>('POST', KEYS, {
      body: {
        name: textIn(fields, 'name'),
        ...limitsIn(fields),
        ...(workspace !== '' && { workspace_id: workspace }),
        expires_at: day === '' ? null : new Date(`${day}T23:59:59`).toISOString(),
      },
    })
  }
  const done = (made: CreatedKey): void => {
    setKey(made)
    created()
  }
  return (
    <Dialog title="Create a key" close={close}>
      <Form submit="Create" send={send} done={done} cancel={close}>
        <div class="fields">
          <Field label="Name" name="name" maxLength={256} autofocus />
          <Select
            label="Workspace"
            name="workspace"
            value={workspace}
            options={workspaces.map(({ id, name }) => [id, name])}
          />
          <Field label="Expires" name="expires" type="date" isOptional />
        </div>
        <LimitFields />
      </Form>
    </Dialog>
  )
}

function ShownOnce({ created, close }: { created: CreatedKey; close: () => void }) {
  return (
    <Dialog title={`The key ${created.data.name}`} close={close}>
      <Note is="attention">Copy it now. It is kept as a hash only, and never shown again.</Note>
      <Code text={created.key} label="Copy the key" />
      <div class="form-actions">
        <button type="button" class="primary" onClick={close}>
          I have copied it
        </button>
      </div>
    </Dialog>
  )
}
