/** A new key, whose text is shown once. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { ShownOnce } from '../../kit/dialogs.tsx'
import { dayEndIn, Select } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
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
  if (key !== null)
    return (
      <ShownOnce title={`The key ${key.data.name}`} secret={key.key} close={close}>
        Copy it now.
      </ShownOnce>
    )
  const { workspaces } = session.value!
  const send = (fields: FormData) => {
    const workspace = textIn(fields, 'workspace')
    return call<CreatedKey>('POST', KEYS, {
      body: {
        name: textIn(fields, 'name'),
        ...limitsIn(fields),
        ...(workspace !== '' && { workspace_id: workspace }),
        expires_at: dayEndIn(fields, 'expires'),
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
