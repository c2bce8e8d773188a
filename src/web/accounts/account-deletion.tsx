import type { VNode } from 'preact'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Checkbox, isChecked } from '../components/choices.tsx'
import { ConfirmedForm } from '../components/confirmed-form.tsx'
import { goTo } from '../components/navigation.ts'
import { PresentOwnerFields, provePresence } from './present-owner.tsx'

/** The deletion of the user's own account. */
export function AccountDeletion({ user }: { user: User }): VNode {
  const api = useApi()
  const remove = async (form: HTMLFormElement) => {
    const force = isChecked(form, 'content')
    await provePresence(api, form)
    await api.of(UserService).deleteUser({ name: user.name, force })
    api.session.forget()
    goTo('/')
  }
  return (
    <section class="box" aria-labelledby="danger">
      <h2 id="danger">Danger zone</h2>
      <ConfirmedForm action="Delete the account" name={user.username} act={remove}>
        <p>
          Your profile, settings, sessions, tokens, keys and webhooks are deleted, and others may
          take your username. Your comments in repositories of others stay, without your name. Only
          a backup of the server has what is deleted.
        </p>
        <p>
          The server refuses while you are the only owner of an organisation, or the only
          administrator of the server.
        </p>
        <Checkbox
          label="Also delete my repositories and memos, with the comments of others"
          name="content"
        />
        <PresentOwnerFields />
      </ConfirmedForm>
    </section>
  )
}
