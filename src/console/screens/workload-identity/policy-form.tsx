/** The fields of a policy, with a condition that is checked while it is written. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Select, TextArea } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Empty } from '../../kit/note.tsx'
import { navigate, place, to } from '../../shell/location.ts'
import { type Saved, saveRules } from './merge-policy.tsx'
import { type Recipe, recipeFor } from './recipes.ts'
import {
  bodyOf,
  CONDITION_CHECK,
  type ConditionCheck,
  ISSUERS,
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

/** The keys that tokens may act as, which are those of no person; undefined until they are known. */
function useTargets(): readonly TargetKey[] | undefined {
  const { data } = useResource<{ data: readonly TargetKey[] }>('api/v1/keys')
  return data?.data.filter(({ creator_user_id }) => creator_user_id === null)
}

export function CreatePolicy({ issuers, close }: CreatePolicyProps) {
  const targets = useTargets()
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
          body: bodyOf(rulesIn(fields)),
        })
      }
      done={({ data }) => navigate(to('workload-identity', data.id))}
    >
      <Parties issuers={issuers} targets={targets} issuer={issuerId} setIssuer={setIssuer} />
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

type Named = readonly [id: string, name: string]

interface PartiesProps {
  readonly issuers: readonly Issuer[] | undefined
  readonly targets: readonly TargetKey[] | undefined
  readonly issuer: string
  readonly setIssuer?: (id: string) => void
  /** What stands there, and may be in neither list. */
  readonly now?: readonly [issuer: Named, key: Named]
}

/** Whose tokens, and as which key they act. */
function Parties({ issuers = [], targets = [], issuer, setIssuer, now }: PartiesProps) {
  const among = (options: readonly Named[], here?: Named): readonly Named[] => [
    ...new Map([...(here ? [here] : []), ...options]),
  ]
  return (
    <div class="fields">
      <Select
        label="Issuer"
        name="issuer_id"
        value={issuer}
        autofocus
        options={among(
          issuers.map(({ id, name }) => [id, name]),
          now?.[0],
        )}
        onChange={(event) => setIssuer?.(event.currentTarget.value)}
      />
      <Select
        label="Acts as the key"
        name="api_key_hash"
        value={now?.[1][0] ?? ''}
        options={among(
          targets.map(({ hash, name }) => [hash, name]),
          now?.[1],
        )}
      />
    </div>
  )
}

interface ChangePolicyProps {
  readonly of: Versioned<Policy>
  readonly issuerName: string
  readonly keyName: string
  readonly close: () => void
  readonly done: (saved: Saved) => void
}

export function ChangePolicy({ of: { of, etag }, issuerName, keyName, close, done }: ChangePolicyProps) {
  const issuers = useResource<{ data: readonly Issuer[] }>(ISSUERS).data?.data
  const { issuer_id: issuer, api_key_hash: hash } = of
  return (
    <Dialog title="Change the policy" close={close}>
      <Form submit="Save" cancel={close} send={(fields) => saveRules(of, etag, rulesIn(fields))} done={done}>
        <Parties
          issuers={issuers}
          targets={useTargets()}
          issuer={issuer}
          now={[
            [issuer, issuerName],
            [hash, keyName],
          ]}
        />
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
    issuer_id: textIn(fields, 'issuer_id'),
    api_key_hash: textIn(fields, 'api_key_hash'),
    audience: textIn(fields, 'audience'),
    subject: textIn(fields, 'subject') || null,
    condition: textIn(fields, 'condition') || null,
    scopes: textIn(fields, 'scopes') || null,
    token_type: textIn(fields, 'token_type') || null,
  }
}
