/** One connection: its address and tokens, the state of the last sync, removals that wait, and its end. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { usePages, useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Confirm } from '../../kit/dialogs.tsx'
import { numberIn } from '../../kit/fields.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Facts, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { Count, Id, State, Time } from '../../kit/values.tsx'
import { navigate, to } from '../../shell/location.ts'
import { tell } from '../../shell/toasts.tsx'
import { apiUrl } from '../command.ts'
import { OnlyHere } from '../only-here.tsx'
import { HeldRemovals } from './held-removals.tsx'
import { Tokens } from './tokens.tsx'
import { Traffic } from './traffic.tsx'
import { type Asked, type Connection, connectionPath, type Quirk, type Removal, type Token } from './wire.ts'

const UP = { href: to('directory'), title: 'Directory' }

export function ConnectionPage({ id }: { id: string }) {
  const path = connectionPath(id)
  const connection = useResource<{ data: Connection }>(path)
  const tokens = useResource<{ data: readonly Token[] }>(`${path}/tokens`)
  const asked = usePages<Asked>(`${path}/requests`)
  const held = usePages<Removal>(`${path}/held`)
  const quirks = useResource<{ data: readonly Quirk[] }>(`${path}/quirks`)
  const [dialog, setDialog] = useState<'settings' | 'delete' | null>(null)
  const failed = [connection, tokens, asked, held, quirks].find(({ problem }) => problem !== null)
  // All at once: what is beneath would move when what is above comes later.
  if (!connection.data || !tokens.data || !asked.rows || !held.rows || !quirks.data) {
    return (
      <Page title="Connection" up={UP}>
        {failed && <ProblemNote problem={failed.problem!} retry={failed.reload} />}
      </Page>
    )
  }
  const { name, held_share, held_from } = connection.data.data
  const [last] = asked.rows
  const close = (): void => setDialog(null)
  return (
    <Page
      title={name}
      up={UP}
      beside={<SyncState last={last} hasTokens={tokens.data.data.length > 0} />}
      actions={
        <>
          <a class="button" href={to('audit', null, { trail: 'directory', connection: id })}>
            Audit
          </a>
          <button type="button" onClick={() => setDialog('settings')}>
            Change
          </button>
          <button type="button" class="danger" onClick={() => setDialog('delete')}>
            Disconnect
          </button>
        </>
      }
    >
      <div class="columns">
        <Tokens path={path} tokens={tokens.data.data} changed={tokens.reload} />
        <Section
          title="About"
          lead="The address that the identity provider asks for, as its tenant or base URL:"
        >
          <Code text={apiUrl('/v1/scim/v2')} label="Copy the address" />
          <OnlyHere />
          <Facts
            rows={{
              'Last request': <Time at={last?.at ?? null} />,
              'Requests kept': <Count value={asked.total!} />,
              'Removals held': <Count value={held.total!} />,
              'Held beyond': `${Math.round(held_share * 1000) / 10} % of a group, and not before ${held_from} removals`,
              Id: <Id id={id} />,
              Connected: <Time at={connection.data.data.created_at} />,
            }}
          />
        </Section>
      </div>
      <HeldRemovals path={path} held={held} />
      <Traffic asked={asked} quirks={quirks.data.data} />
      {dialog === 'settings' && (
        <Dialog title={`Change ${name}`} close={close}>
          <Form
            submit="Save"
            cancel={close}
            send={(fields) =>
              call<{ data: Connection }>('PATCH', path, {
                body: {
                  name: textIn(fields, 'name'),
                  held_share: (numberIn(fields, 'held_percent') ?? 0) / 100,
                  held_from: numberIn(fields, 'held_from'),
                },
              })
            }
            done={(answer) => {
              connection.put(answer)
              close()
            }}
          >
            <Field label="Name" name="name" maxLength={256} defaultValue={name} autofocus />
            <div class="fields">
              <Field
                label="Hold removals beyond"
                name="held_percent"
                type="number"
                min="0"
                max="100"
                step="any"
                unit="%"
                hint="Of a group, within an hour."
                defaultValue={Math.round(held_share * 1000) / 10}
              />
              <Field
                label="But never up to"
                name="held_from"
                type="number"
                min="1"
                step="1"
                hint="Removals, however small the group."
                defaultValue={held_from}
              />
            </div>
          </Form>
        </Dialog>
      )}
      {dialog === 'delete' && (
        <Confirm
          title={`Disconnect ${name}?`}
          submit="Disconnect"
          send={() => call('DELETE', path)}
          done={() => {
            tell(`${name} is disconnected`)
            navigate(to('directory'))
          }}
          close={close}
        >
          Its tokens end, its groups go, and the people it has delivered lose access for good: their keys and
          sessions are refused from then on.
        </Confirm>
      )}
    </Page>
  )
}

/** How the last thing went that the identity provider has asked. */
function SyncState({ last, hasTokens }: { last: Asked | undefined; hasTokens: boolean }) {
  if (!hasTokens) return <State is="attention">no token</State>
  if (last === undefined) return <State is="quiet">waits for its first request</State>
  // What is not there and what has not changed are everyday answers of a sync.
  const isGood = last.status < 400 || last.status === 404 || last.status === 412
  return isGood ? (
    <State is="good">in sync</State>
  ) : (
    <State is="bad">{`last answer was ${last.status}`}</State>
  )
}
