/** One policy: what it asks for, what can be done with it, and the tester. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { Confirm } from '../../kit/dialogs.tsx'
import { Select } from '../../kit/fields.tsx'
import { Facts, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { Id, Time } from '../../kit/values.tsx'
import { navigate, to } from '../../shell/location.ts'
import { tell, tellProblem } from '../../shell/toasts.tsx'
import { OnlyHere } from '../only-here.tsx'
import { type Clash, MergePolicy, type Saved } from './merge-policy.tsx'
import { ChangePolicy } from './policy-form.tsx'
import { PolicyState } from './policy-state.tsx'
import { jobOf, RECIPES, recipeFor } from './recipes.ts'
import { Tester } from './tester.tsx'
import { type Issuer, issuerPath, type Policy, policyPath, type TargetKey, type Versioned } from './wire.ts'

/** What is being changed: the policy as it was when that began. */
type Change = Versioned<Policy>

const UP = { href: to('workload-identity'), title: 'Workload identity' }

export function PolicyPage({ id }: { id: string }) {
  const { data, etag, problem, reload, put } = useResource<{ data: Policy }>(policyPath(id))
  const [dialog, setDialog] = useState<'delete' | Change | Clash | null>(null)
  const issuer = useResource<{ data: Issuer }>(data ? issuerPath(data.data.issuer_id) : null)
  const key = useResource<{ data: TargetKey }>(data ? `api/v1/keys/${data.data.api_key_hash}` : null)
  // What came later than the page would move it.
  const isWhole = (issuer.data ?? issuer.problem) && (key.data ?? key.problem)
  if (data === undefined || !isWhole) {
    return (
      <Page title="Policy" up={UP}>
        <ProblemNote problem={problem} retry={reload} />
      </Page>
    )
  }
  const policy = data.data
  const issuerName = issuer.data?.data.name ?? 'deleted'
  const keyName = key.data?.data.name ?? 'a key that is gone'
  const enable = async (enabled: boolean): Promise<void> => {
    const outcome = await call<{ data: Policy }>('PATCH', policyPath(id), { body: { enabled } })
    if (!outcome.ok) return tellProblem(outcome.problem)
    put(outcome.data, outcome.etag)
    tell(enabled ? 'The policy is enabled' : 'The policy is paused', () => void enable(!enabled))
  }
  const close = (): void => setDialog(null)
  const settle = (saved: Saved): void => {
    const { of, etag } = 'clash' in saved ? saved.clash.theirs : saved.saved
    // Whoever leaves the merge has before them what is in force.
    put({ data: of }, etag)
    setDialog('clash' in saved ? saved.clash : null)
    if ('saved' in saved) tell('The policy is changed, from the next exchange on')
  }
  const { scopes, token_type } = policy.claim_checks
  return (
    <Page
      title={policy.subject ?? 'Any subject'}
      up={UP}
      beside={<PolicyState of={policy} />}
      actions={
        <>
          <button type="button" onClick={() => setDialog({ of: policy, etag })}>
            Change
          </button>
          <button type="button" onClick={() => void enable(!policy.enabled)}>
            {policy.enabled ? 'Pause' : 'Enable'}
          </button>
          <button type="button" class="danger" onClick={() => setDialog('delete')}>
            Delete
          </button>
        </>
      }
    >
      <Section title="What it asks for">
        <Facts
          rows={{
            Policy: <Id id={policy.id} />,
            Issuer: issuerName,
            Audience: <code>{policy.audience}</code>,
            Subject: policy.subject && <code>{policy.subject}</code>,
            Condition: policy.condition && <code>{policy.condition}</code>,
            Scope: scopes && <code>{scopes}</code>,
            'Token type': token_type && <code>{token_type}</code>,
            'Acts as': <a href={to('keys', policy.api_key_hash)}>{keyName}</a>,
            Created: <Time at={policy.created_at} />,
            Changed: <Time at={policy.updated_at} />,
          }}
        />
      </Section>
      <FromAJob of={policy} issuerUrl={issuer.data?.data.issuer_url} />
      <Tester key={policy.updated_at} id={id} />
      {isChange(dialog) && (
        <ChangePolicy of={dialog} issuerName={issuerName} keyName={keyName} close={close} done={settle} />
      )}
      {isClash(dialog) && <MergePolicy key={dialog.theirs.etag} clash={dialog} close={close} done={settle} />}
      {dialog === 'delete' && (
        <Confirm
          title="Delete the policy?"
          submit="Delete"
          send={() => call('DELETE', policyPath(id))}
          done={() => {
            tell('The policy is deleted')
            navigate(to('workload-identity'))
          }}
          close={close}
        >
          Exchanges by it are refused from then on. Access tokens it has issued stay good until they expire.
          To stop it for a while, pause it instead.
        </Confirm>
      )}
    </Page>
  )
}

function FromAJob({ of, issuerUrl }: { of: Policy; issuerUrl: string | undefined }) {
  const [chosen, choose] = useState(recipeFor(issuerUrl)?.name ?? '')
  return (
    <Section
      title="Use it from a job"
      lead="The job asks its platform for a token, exchanges it, and calls with what it gets."
    >
      <Select
        label="It runs on"
        value={chosen}
        options={[['', 'another platform'], ...RECIPES.map(({ name }) => [name, name] as const)]}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      <Code
        text={jobOf(
          RECIPES.find(({ name }) => name === chosen),
          of,
        )}
        label="Copy the job"
      />
      <OnlyHere />
    </Section>
  )
}

function isChange(dialog: 'delete' | Change | Clash | null): dialog is Change {
  return typeof dialog === 'object' && dialog !== null && 'of' in dialog
}

function isClash(dialog: 'delete' | Change | Clash | null): dialog is Clash {
  return typeof dialog === 'object' && dialog !== null && 'theirs' in dialog
}
