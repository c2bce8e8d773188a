import type { VNode } from 'preact'
import type { GpgKey } from '#gen/branchline/v1/gpg_key_pb.ts'
import { GpgKeyService } from '#gen/branchline/v1/gpg_key_service_pb.ts'
import type { PublicKey } from '#gen/branchline/v1/public_key_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import { useApi } from '../api/client.ts'
import { timestampDate } from '../api/timestamps.ts'
import { Command } from '../components/command.tsx'
import { Time } from '../components/formats.tsx'
import { ActionForm, Confirmed, Field, fieldOf, TextArea } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { SettingsFrame } from './account-settings.tsx'
import { PresentOwnerFields, provePresence } from './credentials.tsx'

/** The keys that sign what the user commits. */
export function KeysPage({ query }: PageProps): VNode {
  return (
    <SettingsFrame tab="Keys">
      {() => (
        <>
          <p>
            <T
              text="The server verifies the signatures of your commits and tags by these keys. Git reaches the server over HTTPS, and signs in by an {token}."
              token={<a href="/user/settings/tokens">{t('access token')}</a>}
            />
          </p>
          <SshKeys page={pageOf(query)} />
          <GpgKeys />
        </>
      )}
    </SettingsFrame>
  )
}

/** The SSH keys of the user. */
function SshKeys({ page }: { page: number }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(PublicKeyService).listMyPublicKeys({ page }, { signal }),
    [page],
  )
  return (
    <section aria-labelledby="ssh-keys">
      <h2 id="ssh-keys">{t('SSH keys')}</h2>
      <Show of={list}>
        {({ keys, total, limit }) => (
          <>
            {total === 0n && <p class="empty">{t('You have no SSH keys.')}</p>}
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
        <T
          text="{type}, added {time}"
          type={sshKey.key.split(' ', 1)[0]}
          time={<Time at={sshKey.createdAt} />}
        />
      </p>
      <Confirmed
        action={t('Delete')}
        about={t('the SSH key {name}', { name: sshKey.title })}
        question={t('Signatures by the key are not shown as yours any more.')}
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
      <h3>{t('Add an SSH key')}</h3>
      <p>{t('Show the public key on your machine:')}</p>
      <Command label={t('Command that shows an SSH key')} text="cat ~/.ssh/id_ed25519.pub" />
      <p>{t('Without a key, create one first:')}</p>
      <Command label={t('Command that creates an SSH key')} text="ssh-keygen -t ed25519" />
      <ActionForm
        act={add}
        submit={t('Add the SSH key')}
        done={t('The SSH key is added.')}
        isEmptied
      >
        <Field
          label={t('Name of the SSH key')}
          name="title"
          maxLength={255}
          required
          hint={t('Such as the name of the machine.')}
        />
        <TextArea
          label={t('Public SSH key')}
          name="key"
          rows={4}
          required
          spellcheck={false}
          hint={t('One line, which begins with ssh-ed25519 or another type.')}
        />
        <PresentOwnerFields />
      </ActionForm>
    </>
  )
}

/** As many as an account may have. */
const MAX_KEYS = 50

/** The OpenPGP keys of the user, and the proof that they belong to the user. */
function GpgKeys(): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(GpgKeyService).listMyGpgKeys({ limit: MAX_KEYS }, { signal }),
    [],
  )
  const proof = useLoad(async (signal) => {
    const { data } = await of(GpgKeyService).getGpgKeyToken({}, { signal })
    return new TextDecoder().decode(data)
  }, [])
  return (
    <section aria-labelledby="gpg-keys">
      <h2 id="gpg-keys">{t('GPG keys')}</h2>
      <Show of={list}>
        {({ keys, total }) => (
          <>
            {total === 0n && <p class="empty">{t('You have no GPG keys.')}</p>}
            <ul class="list">
              {keys.map((key) => (
                <GpgKeyItem
                  key={String(key.id)}
                  gpgKey={key}
                  text={proof.value}
                  onChange={list.reload}
                />
              ))}
            </ul>
          </>
        )}
      </Show>
      <h3>{t('Add a GPG key')}</h3>
      <Show of={proof}>{(text) => <NewGpgKey text={text} onAdded={list.reload} />}</Show>
    </section>
  )
}

function GpgKeyItem(props: {
  gpgKey: GpgKey
  text: string | undefined
  onChange: () => void
}): VNode {
  const { gpgKey, text, onChange } = props
  const { of } = useApi()
  const remove = async () => {
    await of(GpgKeyService).deleteGpgKey({ id: gpgKey.id })
    onChange()
  }
  const verify = async (form: HTMLFormElement) => {
    const armoredSignature = fieldOf(form, 'signature')
    await of(GpgKeyService).verifyGpgKey({ keyId: gpgKey.keyId, armoredSignature })
    onChange()
  }
  const { expiresAt } = gpgKey
  return (
    <li>
      <code>{gpgKey.keyId}</code>{' '}
      <span class={gpgKey.verified ? 'tag success' : 'tag'}>
        {gpgKey.verified ? t('verified') : t('not verified')}
      </span>
      <p>{gpgKey.emails.map(({ email }) => email).join(', ')}</p>
      <p class="facts">
        <T
          text="Created {created}, expires {expires}"
          created={<Time at={gpgKey.createdAt} />}
          expires={
            expiresAt && timestampDate(expiresAt).getTime() > 0 ? (
              <Time at={expiresAt} />
            ) : (
              t('never')
            )
          }
        />
      </p>
      {!gpgKey.verified && text !== undefined && (
        <details>
          <summary>{t('Prove that the key is yours')}</summary>
          <SignCommand text={text} keyId={gpgKey.keyId} />
          <ActionForm act={verify} submit={t('Verify the GPG key')}>
            <SignatureArea label={t('Signature')} required />
          </ActionForm>
        </details>
      )}
      <Confirmed
        action={t('Delete')}
        about={t('the GPG key {id}', { id: gpgKey.keyId })}
        question={t('Signatures by the key are not shown as yours any more.')}
        act={remove}
      />
    </li>
  )
}

function NewGpgKey({ text, onAdded }: { text: string; onAdded: () => void }): VNode {
  const api = useApi()
  const add = async (form: HTMLFormElement) => {
    await provePresence(api, form)
    await api.of(GpgKeyService).createGpgKey({
      armoredPublicKey: fieldOf(form, 'key'),
      armoredSignature: fieldOf(form, 'signature'),
    })
    onAdded()
  }
  return (
    <>
      <p>{t('Show the public key on your machine:')}</p>
      <Command
        label={t('Command that shows a GPG key')}
        text="gpg --armor --export --export-options export-minimal KEY"
      />
      <ActionForm
        act={add}
        submit={t('Add the GPG key')}
        done={t('The GPG key is added.')}
        isEmptied
      >
        <TextArea label={t('Public GPG key')} name="key" rows={6} required spellcheck={false} />
        <details>
          <summary>{t('The key does not have your e-mail address')}</summary>
          <p>{t('Then a signature proves that the key is yours.')}</p>
          <SignCommand text={text} keyId="KEY" />
          <SignatureArea label={t('Signature of the new key')} />
        </details>
        <PresentOwnerFields />
      </ActionForm>
    </>
  )
}

function SignCommand({ text, keyId }: { text: string; keyId: string }): VNode {
  return (
    <>
      <p>{t('Sign this text, which is valid for an hour:')}</p>
      <Command
        label={t('Command that signs by {key}', { key: keyId })}
        text={`printf %s '${text}' | gpg --armor --detach-sign --local-user ${keyId}`}
      />
    </>
  )
}

function SignatureArea({ label, required = false }: { label: string; required?: boolean }): VNode {
  return (
    <TextArea
      label={label}
      name="signature"
      rows={4}
      required={required}
      spellcheck={false}
      hint={t('All lines that the command prints.')}
    />
  )
}
