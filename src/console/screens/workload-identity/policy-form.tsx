/** The fields of a policy, with a condition that is checked while it is written. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field, Form, Select, TextArea, textIn } from '../../kit/form.tsx'
import { navigate, to } from '../../shell/location.ts'
import { type Saved, saveRules } from './merge-policy.tsx'
import { RECIPES } from './recipes.ts'
import {
  CONDITION_CHECK,
  type ConditionCheck,
  type Issuer,
  POLICIES,
  type Policy,
  type Rules,
  type TargetKey,
  type Versioned,
} from './wire.ts'

interface CreatePolicyProps {
  readonly issuers: readonly Issuer[]
  readonly close: () => void
}

export function CreatePolicy({ issuers, close }: CreatePolicyProps) {
  const keys = useResource<{ data: readonly TargetKey[] }>('api/v1/keys')
  const [issuerId, setIssuer] = useState(issuers[0]?.id ?? '')
  const url = issuers.find(({ id }) => id === issuerId)?.issuer_url
  const recipe = RECIPES.find(({ issuerUrl }) => issuerUrl === url)
  const targets = keys.data?.data.filter(({ creator_user_id }) => creator_user_id === null) ?? []
  return (
    <Dialog title="Create a policy" close={close}>
      <Form
        submit="Create"
        cancel={close}
        send={(fields) =>
          call<{ data: Policy }>('POST', POLICIES, {
            body: {
              issuer_id: textIn(fields, 'issuer_id'),
              api_key_hash: textIn(fields, 'api_key_hash'),
              ...rulesIn(fields),
            },
          })
        }
        done={({ data }) => navigate(to('workload-identity', data.id))}
      >
        <div class="fields">
          <Select
            label="Issuer"
            name="issuer_id"
            value={issuerId}
            options={issuers.map(({ id, name }) => [id, name])}
            onChange={(event) => setIssuer(event.currentTarget.value)}
          />
          <Select
            label="Acts as the key"
            name="api_key_hash"
            options={targets.map(({ hash, name }) => [hash, name])}
          />
        </div>
        <RuleFields example={recipe?.condition ?? 'subject.startsWith("repo:acme/")'} />
      </Form>
    </Dialog>
  )
}

export function ChangePolicy({
  of: { of, etag },
  close,
  done,
}: {
  of: Versioned<Policy>
  close: () => void
  done: (saved: Saved) => void
}) {
  return (
    <Dialog title="Change the policy" close={close}>
      <Form submit="Save" cancel={close} send={(fields) => saveRules(of, etag, rulesIn(fields))} done={done}>
        <RuleFields of={of} example='subject.startsWith("repo:acme/")' />
      </Form>
    </Dialog>
  )
}

function RuleFields({ of, example }: { of?: Policy; example: string }) {
  return (
    <>
      <div class="fields">
        <Field
          label="Audience"
          name="audience"
          maxLength={512}
          defaultValue={of?.audience ?? ''}
          hint="Equal to one entry of aud."
        />
        <Field
          label="Subject"
          name="subject"
          maxLength={512}
          isOptional
          defaultValue={of?.subject ?? ''}
          hint="Equal to sub; needed without a condition."
        />
      </div>
      <ConditionField defaultValue={of?.condition ?? ''} example={example} />
    </>
  )
}

const PAUSE_MS = 250

/** Asks the server a moment after the last key stroke; what it says of an older text is dropped. */
function ConditionField({ defaultValue, example }: { defaultValue: string; example: string }) {
  const [text, setText] = useState(defaultValue)
  const [checked, setChecked] = useState<ConditionCheck | null>(null)
  useEffect(() => {
    setChecked(null)
    if (text.trim() === '') return
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      const options = { body: { condition: text.trim() }, signal: leaving.signal }
      void call<{ data: ConditionCheck }>('POST', CONDITION_CHECK, options).then((outcome) => {
        if (outcome.ok) setChecked(outcome.data.data)
      })
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [text])
  return (
    <TextArea
      label="Condition"
      name="condition"
      isOptional
      rows={3}
      maxLength={2000}
      defaultValue={defaultValue}
      placeholder={example}
      onInput={(event) => setText(event.currentTarget.value)}
      hint={<ConditionSentence of={checked} />}
    />
  )
}

function ConditionSentence({ of }: { of: ConditionCheck | null }) {
  if (of === null) return <>CEL over subject, audience, scopes and token_type.</>
  if (of.fault === null) return <span class="rule-good">The condition is sound.</span>
  return (
    <span class="rule-bad">
      At character {of.fault.position + 1}: {of.fault.reason}.
    </span>
  )
}

function rulesIn(fields: FormData): Rules {
  return {
    audience: textIn(fields, 'audience'),
    subject: textIn(fields, 'subject') || null,
    condition: textIn(fields, 'condition') || null,
  }
}
