/** The fields of a policy, with a condition that is checked while it is written. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field, Form, Select, TextArea, textIn } from '../../kit/form.tsx'
import { Empty } from '../../kit/page.tsx'
import { navigate, place, to } from '../../shell/location.ts'
import { type Saved, saveRules } from './merge-policy.tsx'
import { type Recipe, recipeFor } from './recipes.ts'
import {
  bodyOf,
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
  /** Undefined until they are known. */
  readonly issuers: readonly Issuer[] | undefined
  readonly close: () => void
}

export function CreatePolicy({ issuers, close }: CreatePolicyProps) {
  const { data } = useResource<{ data: readonly TargetKey[] }>('api/v1/keys')
  const targets = data?.data.filter(({ creator_user_id }) => creator_user_id === null)
  const isKnown = issuers !== undefined && targets !== undefined
  return (
    <Dialog key={String(isKnown)} title="Create a policy" close={close}>
      {isKnown && <CreateForm issuers={issuers} targets={targets} close={close} />}
    </Dialog>
  )
}

interface CreateFormProps {
  readonly issuers: readonly Issuer[]
  readonly targets: readonly TargetKey[]
  readonly close: () => void
}

function CreateForm({ issuers, targets, close }: CreateFormProps) {
  const [issuerId, setIssuer] = useState(place.value.query.get('issuer') ?? issuers[0]?.id ?? '')
  const [missing, query] = issuers.length === 0 ? MISSING.issuer : MISSING.key
  if (issuers.length === 0 || targets.length === 0) return <Empty title={missing}>{query}</Empty>
  const recipe = recipeFor(issuers.find(({ id }) => id === issuerId)?.issuer_url)
  return (
    <Form
      submit="Create"
      cancel={close}
      send={(fields) =>
        call<{ data: Policy }>('POST', POLICIES, {
          body: {
            issuer_id: textIn(fields, 'issuer_id'),
            api_key_hash: textIn(fields, 'api_key_hash'),
            ...bodyOf(rulesIn(fields)),
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
          autofocus
          options={issuers.map(({ id, name }) => [id, name])}
          onChange={(event) => setIssuer(event.currentTarget.value)}
        />
        <Select
          label="Acts as the key"
          name="api_key_hash"
          options={targets.map(({ hash, name }) => [hash, name])}
        />
      </div>
      <RuleFields key={recipe?.name} recipe={recipe} />
    </Form>
  )
}

const MISSING = {
  issuer: [
    'No issuer is trusted yet',
    <a key="issuer" href={to('workload-identity', null, { new: 'issuer' })}>
      Trust the one of your platform
    </a>,
  ],
  key: [
    'There is no key to act as',
    <a key="key" href={to('keys', null, { new: 'key' })}>
      Create one for the job
    </a>,
  ],
} as const

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
        <RuleFields of={of} />
      </Form>
    </Dialog>
  )
}

/** Of a policy that is there, or of one that begins with what a platform's tokens say. */
function RuleFields({ of, recipe }: { of?: Policy; recipe?: Recipe | undefined }) {
  const { scopes = '', token_type: type = '' } = of?.claim_checks ?? {}
  return (
    <>
      <div class="fields">
        <Field
          label="Audience"
          name="audience"
          maxLength={512}
          defaultValue={of?.audience ?? 'sluice'}
          hint="Equal to one entry of aud: what the job asks its token for."
        />
        <Field
          label="Subject"
          name="subject"
          maxLength={512}
          isOptional
          defaultValue={of?.subject ?? recipe?.subject ?? ''}
          {...(recipe && { pattern: '[^<>]*' })}
          hint={
            recipe
              ? 'Equal to sub. Put what is yours in place of <…>.'
              : 'Equal to sub; needed without a condition.'
          }
        />
      </div>
      <ConditionField
        defaultValue={of?.condition ?? ''}
        example={recipe?.condition ?? 'subject.startsWith("repo:acme/")'}
      />
      <div class="fields">
        <Field
          label="Scope"
          name="scopes"
          maxLength={512}
          isOptional
          defaultValue={scopes}
          hint="An entry that scopes has to have."
        />
        <Field
          label="Token type"
          name="token_type"
          maxLength={512}
          isOptional
          defaultValue={type}
          hint="What token_type has to be."
        />
      </div>
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
    scopes: textIn(fields, 'scopes') || null,
    token_type: textIn(fields, 'token_type') || null,
  }
}
