/** One member: its standing, its roles and why it has them. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Confirm } from '../../kit/dialogs.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Facts, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { Id, State, Time } from '../../kit/values.tsx'
import { navigate, to } from '../../shell/location.ts'
import { may } from '../../shell/session.ts'
import { tell, tellProblem } from '../../shell/toasts.tsx'
import { MemberGroups } from './member-groups.tsx'
import { MemberRoles } from './member-roles.tsx'
import { type Member, memberPath } from './wire.ts'

const UP = { href: to('members'), title: 'Members' }

export function MemberPage({ id }: { id: string }) {
  const { data, problem, reload, put } = useResource<{ data: Member }>(memberPath(id))
  const [dialog, setDialog] = useState<'rename' | 'remove' | null>(null)
  if (data === undefined) {
    return (
      <Page title="Member" up={UP}>
        <ProblemNote problem={problem} retry={reload} />
      </Page>
    )
  }
  const member = data.data
  const name = member.display_name ?? member.user_name
  const isOurs = member.connection_id === null
  const change = (body: object) => call<{ data: Member }>('PATCH', memberPath(id), { body })
  const activate = async (active: boolean): Promise<void> => {
    const outcome = await change({ active })
    if (!outcome.ok) return tellProblem(outcome.problem)
    put(outcome.data)
    tell(`${name} is ${active ? 'active' : 'deactivated'}`, () => void activate(!active))
  }
  const close = (): void => setDialog(null)
  return (
    <Page
      title={name}
      up={UP}
      beside={member.active ? <State is="good">active</State> : <State is="quiet">deactivated</State>}
      lead={isOurs ? undefined : 'A directory delivers this person: name and standing are changed there.'}
      actions={
        may('management') &&
        isOurs && (
          <>
            <button type="button" onClick={() => setDialog('rename')}>
              Rename
            </button>
            <button type="button" onClick={() => void activate(!member.active)}>
              {member.active ? 'Deactivate' : 'Activate'}
            </button>
            <button type="button" class="danger" onClick={() => setDialog('remove')}>
              Remove
            </button>
          </>
        )
      }
    >
      <div class="columns">
        <MemberRoles of={member} changed={reload} />
        <Section title="About">
          <Facts
            rows={{
              'User name': member.user_name,
              Id: <Id id={member.id} />,
              Subject: member.external_id,
              Directory: member.connection_id && (
                <Id
                  id={member.connection_id}
                  {...(may('management') && { href: to('directory', member.connection_id) })}
                />
              ),
              Since: <Time at={member.created_at} />,
              Changed: <Time at={member.updated_at} />,
            }}
          />
        </Section>
      </div>
      {may('management') && <MemberGroups of={id} />}
      {dialog === 'rename' && (
        <Dialog title="Rename the member" close={close}>
          <Form
            submit="Rename"
            cancel={close}
            send={(fields) =>
              change({
                user_name: textIn(fields, 'user_name'),
                display_name: textIn(fields, 'display_name') || null,
              })
            }
            done={(answer) => {
              put(answer)
              close()
            }}
          >
            <div class="fields">
              <Field
                label="User name"
                name="user_name"
                maxLength={256}
                defaultValue={member.user_name}
                autofocus
              />
              <Field
                label="Shown as"
                name="display_name"
                maxLength={256}
                defaultValue={member.display_name ?? ''}
                isOptional
              />
            </div>
          </Form>
        </Dialog>
      )}
      {dialog === 'remove' && (
        <Confirm
          title={`Remove ${name}?`}
          submit="Remove"
          send={() => call('DELETE', memberPath(id))}
          done={() => {
            tell(`${name} is removed`)
            navigate(to('members'))
          }}
          close={close}
        >
          The keys and sessions of this person are refused from then on, for good. To keep somebody out for a
          while, deactivate them instead.
        </Confirm>
      )}
    </Page>
  )
}
