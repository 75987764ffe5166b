/** A new issuer, from a recipe or by hand, and changes of one that is there. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Select } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { tell } from '../../shell/toasts.tsx'
import { RECIPES } from './recipes.ts'
import { ISSUERS, type Issuer, issuerPath } from './wire.ts'

interface IssuerFormProps {
  /** The one that is changed; a new one is made without. */
  readonly of?: Issuer | undefined
  readonly close: () => void
  readonly done: (id: string) => void
}

export function IssuerForm({ of, close, done }: IssuerFormProps) {
  const [chosen, choose] = useState('')
  const recipe = RECIPES.find(({ name }) => name === chosen)
  const send = (fields: FormData) => {
    const told = {
      name: textIn(fields, 'name'),
      issuer_url: textIn(fields, 'issuer_url'),
      jwks_url: textIn(fields, 'jwks_url') || null,
    }
    // What is as it was is left out: somebody else may have changed it meanwhile.
    const changed = Object.entries(told).filter(([name, value]) => value !== of?.[name as keyof typeof told])
    const body = Object.fromEntries(changed)
    return call<{ data: Issuer }>(of ? 'PATCH' : 'POST', of ? issuerPath(of.id) : ISSUERS, { body })
  }
  return (
    <Dialog title={of ? `Change ${of.name}` : 'Trust an issuer'} close={close}>
      <Form
        submit={of ? 'Save' : 'Trust it'}
        send={send}
        cancel={close}
        done={({ data }) => {
          tell(`${data.name} is trusted`)
          done(data.id)
        }}
      >
        {!of && (
          <Select
            label="Platform"
            value={chosen}
            autofocus
            hint="It fills in what is known of its tokens."
            options={[['', 'Another'], ...RECIPES.map(({ name }) => [name, name] as const)]}
            onChange={(event) => choose(event.currentTarget.value)}
          />
        )}
        <div class="fields" key={chosen}>
          <Field label="Name" name="name" maxLength={256} defaultValue={(of ?? recipe)?.name ?? ''} />
          <Field
            label="Issuer URL"
            name="issuer_url"
            type="url"
            maxLength={2048}
            defaultValue={of?.issuer_url ?? recipe?.issuerUrl ?? ''}
            pattern="[^<>]*"
            hint="Equal to iss of its tokens, character by character."
          />
        </div>
        <Field
          label="Key set URL"
          name="jwks_url"
          type="url"
          maxLength={2048}
          isOptional
          defaultValue={of?.jwks_url ?? ''}
          hint="Without it, discovery tells."
        />
      </Form>
    </Dialog>
  )
}
