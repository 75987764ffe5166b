/** One key: what it has spent, its limits, and what can be done with it. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Confirm, Rename } from '../../kit/dialogs.tsx'
import { Form } from '../../kit/form.tsx'
import { Facts, Figures, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { Id, Meter, Money, moneyText, Time } from '../../kit/values.tsx'
import { navigate, to } from '../../shell/location.ts'
import { workspaceName } from '../../shell/session.ts'
import { tell, tellProblem } from '../../shell/toasts.tsx'
import { KeyState } from './key-state.tsx'
import { LimitFields, limitsIn } from './limit-fields.tsx'
import { type Key, keyPath, type LimitReset } from './wire.ts'

const UP = { href: to('keys'), title: 'Keys' }

export function KeyPage({ hash }: { hash: string }) {
  const { data, problem, reload, put } = useResource<{ data: Key }>(keyPath(hash))
  const last = useResource<{ data: readonly Call[] }>(`api/v1/generations?limit=1&key=${hash}`)
  const [dialog, setDialog] = useState<'rename' | 'delete' | null>(null)
  // What came later than the page would move it.
  if (data === undefined || !(last.data ?? last.problem)) {
    return (
      <Page title="Key" up={UP}>
        <ProblemNote problem={problem} retry={reload} />
      </Page>
    )
  }
  const key = data.data
  const change = (body: object) => call<{ data: Key }>('PATCH', keyPath(hash), { body })
  const disable = async (disabled: boolean): Promise<void> => {
    const outcome = await change({ disabled })
    if (!outcome.ok) return tellProblem(outcome.problem)
    put(outcome.data)
    tell(`${key.name} is ${disabled ? 'disabled' : 'enabled'}`, () => void disable(!disabled))
  }
  const close = (): void => setDialog(null)
  return (
    <Page
      title={key.name}
      up={UP}
      beside={<KeyState of={key} />}
      actions={
        <>
          <button type="button" onClick={() => setDialog('rename')}>
            Rename
          </button>
          <button type="button" onClick={() => void disable(!key.disabled)}>
            {key.disabled ? 'Enable' : 'Disable'}
          </button>
          <button type="button" class="danger" onClick={() => setDialog('delete')}>
            Delete
          </button>
        </>
      }
    >
      <Figures
        rows={{
          'Today (UTC)': <Money dollars={key.usage_daily} />,
          'This week (UTC)': <Money dollars={key.usage_weekly} />,
          'This month (UTC)': <Money dollars={key.usage_monthly} />,
          Altogether: <Money dollars={key.usage} />,
          'Own provider keys': <Money dollars={key.byok_usage} />,
        }}
      />
      <div class="columns">
        <Section title="Limits" lead={<LimitSentence of={key} />}>
          <Form
            key={key.updated_at}
            submit="Save the limits"
            send={(fields) => change(limitsIn(fields))}
            done={(answer) => {
              put(answer)
              tell('The limits are saved')
            }}
          >
            <LimitFields of={key} />
          </Form>
        </Section>
        <Section title="About">
          <Facts
            rows={{
              Key: <code>{key.label}</code>,
              Hash: <Id id={key.hash} />,
              Workspace: workspaceName(key.workspace_id),
              Member: key.creator_user_id && <Id id={key.creator_user_id} />,
              Created: <Time at={key.created_at} />,
              Changed: <Time at={key.updated_at} />,
              Expires: <Time at={key.expires_at} />,
              'Last call': <LastCall of={last.data?.data[0]} />,
              'Its calls': (
                <span class="links">
                  <a href={to('generations', null, { key: hash })}>one by one</a>
                  <a href={to('usage', null, { key: hash })}>summed up</a>
                </span>
              ),
            }}
          />
        </Section>
      </div>
      {dialog === 'rename' && (
        <Rename
          title="Rename the key"
          name={key.name}
          send={(name) => change({ name })}
          done={put}
          close={close}
        />
      )}
      {dialog === 'delete' && (
        <Confirm
          title={`Delete ${key.name}?`}
          submit="Delete"
          send={() => call('DELETE', keyPath(hash))}
          done={() => {
            tell(`${key.name} is deleted`)
            navigate(to('keys'))
          }}
          close={close}
        >
          Calls with this key are refused from then on, and access tokens that act for it as well. What it has
          spent stays in the ledger. To stop it for a while, disable it instead.
        </Confirm>
      )}
    </Page>
  )
}

/** When a limit starts anew: windows are those of UTC. */
function nextReset(reset: LimitReset): string {
  const now = new Date()
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const daysToMonday = (8 - now.getUTCDay()) % 7 || 7
  const at = {
    daily: Date.UTC(year, month, day + 1),
    weekly: Date.UTC(year, month, day + daysToMonday),
    monthly: Date.UTC(year, month + 1, 1),
  }[reset]
  return new Date(at).toISOString()
}

interface Call {
  readonly id: string
  readonly created_at: string
}

function LastCall({ of }: { of: Call | undefined }) {
  if (of === undefined) return <span class="soft">none yet</span>
  return (
    <a href={to('generations', of.id)}>
      <Time at={of.created_at} />
    </a>
  )
}

function LimitSentence({ of: { limit, limit_remaining, limit_reset } }: { of: Key }) {
  if (limit === null || limit_remaining === null) return <>Nothing limits what this key spends.</>
  return (
    <>
      <Meter used={limit - limit_remaining} of={limit} label="Used of the limit" /> $
      {moneyText(limit_remaining)} of ${moneyText(limit)} are left{limit_reset && ', and all of it again '}
      {limit_reset && <Time at={nextReset(limit_reset)} />}.
    </>
  )
}
