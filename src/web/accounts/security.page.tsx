import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { encode } from 'uqr'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import type { LinkedIdentity } from '#gen/branchline/v1/linked_identity_pb.ts'
import { type TwoFactor, TwoFactor_State } from '#gen/branchline/v1/two_factor_pb.ts'
import {
  type EnrollTwoFactorResponse,
  TwoFactorService,
} from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { SENT_ONCE, useApi } from '../api/client.ts'
import { Command, ShownOnce } from '../components/command.tsx'
import { Time } from '../components/formats.tsx'
import { ActionForm, Confirmed, Field, fieldOf } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { plural, T, t } from '../language/texts.tsx'
import { SettingsFrame } from './account-settings.tsx'
import { factorOf, PresentOwnerFields, ProviderButtons, provePresence } from './credentials.tsx'

/** How the user signs in, besides the password. */
export function SecurityPage(): VNode {
  return (
    <SettingsFrame tab="Security">
      {({ name }) => (
        <>
          <TwoFactorSection user={name} />
          <Identities user={name} />
          <h2>{t('Sessions')}</h2>
          <p>
            <T
              text="A {password} ends all your sessions but this one."
              password={<a href="/user/settings">{t('new password')}</a>}
            />
          </p>
        </>
      )}
    </SettingsFrame>
  )
}

function Identities({ user }: { user: string }): VNode {
  const api = useApi()
  const { of } = api
  const list = useLoad(
    async (signal) => {
      const [{ linkedIdentities }, { identityProviders }] = await Promise.all([
        of(UserService).listLinkedIdentities({ parent: user }, { signal }),
        of(IdentityProviderService).listIdentityProviders({}, { signal }),
      ])
      const titles = new Map(identityProviders.map(({ name, title }) => [name, title]))
      const identities = linkedIdentities.map((identity) => ({
        identity,
        title: titles.get(identity.idpName) ?? identity.idpName,
      }))
      const linked = new Set(linkedIdentities.map(({ idpName }) => idpName))
      return { identities, others: identityProviders.filter(({ name }) => !linked.has(name)) }
    },
    [user],
  )
  return (
    <section aria-labelledby="identities">
      <h2 id="identities">{t('Single sign-on')}</h2>
      <Show of={list}>
        {({ identities, others }) => (
          <>
            {identities.length === 0 && <p class="empty">{t('No other provider signs you in.')}</p>}
            <ul class="list">
              {identities.map((entry) => (
                <IdentityItem key={entry.identity.name} {...entry} onDeleted={list.reload} />
              ))}
            </ul>
            {others.length > 0 && (
              <ActionForm
                act={(form) => provePresence(api, form)}
                submit={t('Confirm that it is you')}
                done={t('You may link an identity within 15 minutes.')}
                isEmptied
              >
                <PresentOwnerFields />
              </ActionForm>
            )}
            <ProviderButtons providers={others} purpose="link" target="/user/settings/security" />
          </>
        )}
      </Show>
    </section>
  )
}

function IdentityItem(props: {
  identity: LinkedIdentity
  title: string
  onDeleted: () => void
}): VNode {
  const { identity, title, onDeleted } = props
  const { of } = useApi()
  const unlink = async () => {
    await of(UserService).deleteLinkedIdentity({ name: identity.name })
    onDeleted()
  }
  return (
    <li>
      <strong>{title}</strong>
      <p class="facts">{t('You are {id} there.', { id: identity.externUid })}</p>
      <Confirmed
        action={t('Unlink')}
        about={title}
        question={t('The provider does not sign you in any more.')}
        act={unlink}
      />
    </li>
  )
}

interface FactorProps {
  /** Resource name of the second factor. */
  readonly name: string
  /** Called with new recovery codes, or none, when the second factor has changed. */
  readonly onChange: (codes: readonly string[]) => void
}

/** The second factor of the user. */
function TwoFactorSection({ user }: { user: string }): VNode {
  const { of } = useApi()
  const [codes, setCodes] = useState<readonly string[]>([])
  const name = `${user}/twoFactor`
  const factor = useLoad(
    (signal) => of(TwoFactorService).getTwoFactor({ name }, { signal }),
    [name],
  )
  const onChange = (created: readonly string[]) => {
    setCodes(created)
    factor.reload()
  }
  return (
    <section aria-labelledby="two-factor">
      <h2 id="two-factor">{t('Second factor')}</h2>
      <p>
        {t(
          'With a second factor, the sign-in asks for a passcode of an app on your phone besides the password. Access tokens need no passcode.',
        )}
      </p>
      {codes.length > 0 && (
        <ShownOnce name={t('Recovery codes')} secret={codes.join('\n')}>
          <p>
            {t('Each recovery code replaces the passcode once, for example without the phone.')}
          </p>
        </ShownOnce>
      )}
      <Show of={factor}>
        {(value) =>
          value.state === TwoFactor_State.ENABLED ? (
            <Enabled factor={value} name={name} onChange={onChange} />
          ) : (
            <Enrolment name={name} onChange={onChange} />
          )
        }
      </Show>
    </section>
  )
}

function Enrolment({ name, onChange }: FactorProps): VNode {
  const { of } = useApi()
  const [offer, setOffer] = useState<EnrollTwoFactorResponse>()
  const enrol = async (form: HTMLFormElement) => {
    const password = fieldOf(form, 'password')
    setOffer(await of(TwoFactorService).enrollTwoFactor({ name, password }, SENT_ONCE))
  }
  const confirm = async (form: HTMLFormElement) => {
    const passcode = fieldOf(form, 'passcode')
    const made = await of(TwoFactorService).confirmTwoFactor({ name, passcode }, SENT_ONCE)
    onChange(made.recoveryCodes)
  }
  if (!offer)
    return (
      <>
        <p>{t('The second factor is off.')}</p>
        <ActionForm act={enrol} submit={t('Set up the second factor')}>
          <PasswordField />
        </ActionForm>
      </>
    )
  return (
    <>
      <p>{t('Scan the code with an authenticator app:')}</p>
      <QrCode text={offer.otpauthUri} label={t('QR code for the authenticator app')} />
      <p>{t('Or type the secret into the app:')}</p>
      <Command text={offer.secret} label={t('Secret for the authenticator app')} />
      <ActionForm act={confirm} submit={t('Turn the second factor on')}>
        <PasscodeField
          hint={t('The six digits that the app shows. They prove that the app has the secret.')}
        />
      </ActionForm>
    </>
  )
}

function Enabled({ factor, name, onChange }: FactorProps & { factor: TwoFactor }): VNode {
  const { of } = useApi()
  const regenerate = async (form: HTMLFormElement) => {
    const passcode = fieldOf(form, 'passcode')
    const made = await of(TwoFactorService).regenerateRecoveryCodes({ name, passcode }, SENT_ONCE)
    onChange(made.recoveryCodes)
  }
  const disable = async (form: HTMLFormElement) => {
    const proof = { password: fieldOf(form, 'password'), ...factorOf(fieldOf(form, 'code')) }
    await of(TwoFactorService).disableTwoFactor({ name, ...proof }, SENT_ONCE)
    onChange([])
  }
  return (
    <>
      <p>
        <T text="The second factor is on, since {time}." time={<Time at={factor.confirmTime} />} />{' '}
        {plural(
          factor.recoveryCodesRemaining,
          '{count} recovery code is left.',
          '{count} recovery codes are left.',
        )}
      </p>
      <h3>{t('New recovery codes')}</h3>
      <p>{t('The present recovery codes stop working.')}</p>
      <ActionForm act={regenerate} submit={t('Create recovery codes')} isEmptied>
        <PasscodeField />
      </ActionForm>
      <h3>{t('Turn the second factor off')}</h3>
      <ActionForm act={disable} submit={t('Turn the second factor off')}>
        <PasswordField />
        <Field
          label={t('Passcode or recovery code')}
          name="code"
          autocomplete="one-time-code"
          required
        />
      </ActionForm>
    </>
  )
}

function PasswordField(): VNode {
  return (
    <Field
      label={t('Your password')}
      name="password"
      type="password"
      autocomplete="current-password"
      hint={t('Empty if you sign in by another provider and have no password.')}
    />
  )
}

function PasscodeField({
  hint = t('The six digits that the app shows.'),
}: {
  hint?: string
}): VNode {
  return (
    <Field
      label={t('Passcode')}
      name="passcode"
      autocomplete="one-time-code"
      inputMode="numeric"
      required
      hint={hint}
    />
  )
}

/** Light fields around the code, which scanners need (ISO/IEC 18004). */
const BORDER = 4

/** A text as a QR code. The browser draws the code, so that no server learns the text. */
function QrCode({ text, label }: { text: string; label: string }): VNode {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER })
  const path = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  )
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path class="light" d={`M0 0h${size}v${size}h-${size}z`} />
      <path d={path.join('')} shape-rendering="crispEdges" />
    </svg>
  )
}
