/** A new issuer, from a recipe or by hand. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field, Form, Select, textIn } from '../../kit/form.tsx'
import { tell } from '../../shell/toasts.tsx'
import { RECIPES } from './recipes.ts'
import { ISSUERS, type Issuer } from './wire.ts'

export function CreateIssuer({ close, created }: { close: () => void; created: (id: string) => void }) {
  const [chosen, choose] = useState('')
  const recipe = RECIPES.find(({ name }) => name === chosen)
  const send = (fields: FormData) =>
    call<{ data: Issuer }>('POST', ISSUERS, {
      body: {
        name: textIn(fields, 'name'),
        issuer_url: textIn(fields, 'issuer_url'),
        jwks_url: textIn(fields, 'jwks_url') || null,
      },
    })
  return (
    <Dialog title="Trust an issuer" close={close}>
      <Form
        submit="Trust it"
        send={send}
        cancel={close}
        done={({ data }) => {
          tell(`${data.name} is trusted`)
          created(data.id)
        }}
      >
        <Select
          label="Platform"
          value={chosen}
          autofocus
          hint="It fills in what is known of its tokens, here and in the policy."
          options={[['', 'Another'], ...RECIPES.map(({ name }) => [name, name] as const)]}
          onChange={(event) => choose(event.currentTarget.value)}
        />
        <div class="fields" key={chosen}>
          <Field label="Name" name="name" maxLength={256} defaultValue={recipe?.name ?? ''} />
          <Field
            label="Issuer URL"
            name="issuer_url"
            type="url"
            maxLength={2048}
            defaultValue={recipe?.issuerUrl ?? ''}
            pattern="[^<>]*"
            hint="Equal to the claim iss of its tokens, character by character."
          />
        </div>
        <Field
          label="Key set URL"
          name="jwks_url"
          type="url"
          maxLength={2048}
          isOptional
          hint="Without it, discovery tells."
        />
      </Form>
    </Dialog>
  )
}
