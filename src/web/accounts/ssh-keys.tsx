import type { VNode } from 'preact'
import type { PublicKey } from '#gen/branchline/v1/public_key_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Command } from '../components/command.tsx'
import { Confirmed } from '../components/confirmed.tsx'
import { Field, fieldOf } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager } from '../components/pager.tsx'
import { TextArea } from '../components/text-area.tsx'
import { Time } from '../components/time.tsx'
import { PresentOwnerFields, provePresence } from './present-owner.tsx'

/** The SSH keys of the user. */
export function SshKeys({ page }: { page: number }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(PublicKeyService).listMyPublicKeys({ page }, { signal }),
    [page],
  )
  return (
    <section aria-labelledby="ssh-keys">
      <h2 id="ssh-keys">SSH keys</h2>
      <Show of={list}>
        {({ keys, total, limit }) => (
          <>
            {total === 0n && <p>You have no SSH keys.</p>}
            <ul class="list">
              {keys.map((key) => (
                <SshKeyItem key={String(key.id)} sshKey={key} onDeleted={list.reload} />
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      <NewSshKey onAdded={list.reload} />
    </section>
  )
}

function SshKeyItem(props: { sshKey: PublicKey; onDeleted: () => void }): VNode {
  const { sshKey, onDeleted } = props
  const { of } = useApi()
  const remove = async () => {
    await of(PublicKeyService).deletePublicKey({ id: sshKey.id })
    onDeleted()
  }
  return (
    <li>
      <strong>{sshKey.title}</strong>
      <p>
        <code>{sshKey.fingerprint}</code>
      </p>
      <p class="facts">
        {sshKey.key.split(' ', 1)[0]}, added <Time at={sshKey.createdAt} />
      </p>
      <Confirmed
        action="Delete"
        about={`the SSH key ${sshKey.title}`}
        question="Signatures by the key are not shown as yours any more."
        act={remove}
      />
    </li>
  )
}

function NewSshKey({ onAdded }: { onAdded: () => void }): VNode {
  const api = useApi()
  const add = async (form: HTMLFormElement) => {
    const [title, key] = [fieldOf(form, 'title'), fieldOf(form, 'key').trim()]
    await provePresence(api, form)
    await api.of(PublicKeyService).createPublicKey({ title, key })
    onAdded()
  }
  return (
    <>
      <h3>Add an SSH key</h3>
      <p>Show the public key on your machine:</p>
      <Command label="Command that shows an SSH key" text="cat ~/.ssh/id_ed25519.pub" />
      <p>Without a key, create one first:</p>
      <Command label="Command that creates an SSH key" text="ssh-keygen -t ed25519" />
      <ActionForm act={add} submit="Add the SSH key" done="The SSH key is added." isEmptied>
        <Field
          label="Name of the SSH key"
          name="title"
          maxLength={255}
          required
          hint="Such as the name of the machine."
        />
        <TextArea
          label="Public SSH key"
          name="key"
          rows={4}
          required
          spellcheck={false}
          hint="One line, which begins with ssh-ed25519 or another type."
        />
        <PresentOwnerFields />
      </ActionForm>
    </>
  )
}
