import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  TwoFactor_State,
  type TwoFactor as TwoFactorMessage,
  TwoFactorSchema,
} from '#gen/branchline/v1/two_factor_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import type { User } from '../../core/schema.ts'
import { callerOf, ownerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { invalidName, parseOwnedName, userName } from '../../core/wire/names.ts'
import { atSecond } from '../../core/wire/times.ts'
import {
  confirmTwoFactor,
  disableTwoFactor,
  enrollTwoFactor,
  getTwoFactor,
  regenerateRecoveryCodes,
  type TwoFactor,
} from './two-factor.ts'

/** Implements TwoFactorService. */
function twoFactorService(app: App): ServiceImpl<typeof TwoFactorService> {
  return {
    async getTwoFactor(request, context) {
      const owner = ownerOfTwoFactor(request, context)
      return twoFactorMessage(owner, await getTwoFactor(app, owner))
    },

    async enrollTwoFactor(request, context) {
      const owner = ownerOfTwoFactor(request, context)
      const { twoFactor, secret, otpauthUri } = await enrollTwoFactor(
        app,
        signedIn(callerOf(context)),
        request.password,
      )
      return { twoFactor: twoFactorMessage(owner, twoFactor), secret, otpauthUri }
    },

    async confirmTwoFactor(request, context) {
      const owner = ownerOfTwoFactor(request, context)
      const { twoFactor, recoveryCodes } = await confirmTwoFactor(app, owner, request.passcode)
      return { twoFactor: twoFactorMessage(owner, twoFactor), recoveryCodes }
    },

    async disableTwoFactor(request, context) {
      const owner = ownerOfTwoFactor(request, context)
      const { password, passcode, recoveryCode } = request
      await disableTwoFactor(app, signedIn(callerOf(context)), owner, {
        password,
        passcode,
        recoveryCode,
      })
      return {}
    },

    async regenerateRecoveryCodes(request, context) {
      const owner = ownerOfTwoFactor(request, context)
      return { recoveryCodes: await regenerateRecoveryCodes(app, owner, request.passcode) }
    },
  }
}

function ownerOfTwoFactor({ name }: { readonly name: string }, context: HandlerContext): User {
  if (parseOwnedName(name).rest !== 'twoFactor') throw invalidName(name)
  return ownerOf(context)
}

function twoFactorMessage(owner: User, twoFactor: TwoFactor): TwoFactorMessage {
  const message = create(TwoFactorSchema, {
    name: `${userName(owner)}/twoFactor`,
    state: TwoFactor_State[twoFactor.state],
    recoveryCodesRemaining: twoFactor.recoveryCodesRemaining,
  })
  const { createTime, confirmTime, lastUsedTime } = twoFactor
  if (createTime !== null) message.createTime = atSecond(createTime)
  if (confirmTime !== null) message.confirmTime = atSecond(confirmTime)
  if (lastUsedTime !== null) message.lastUsedTime = atSecond(lastUsedTime)
  return message
}

export const twoFactor = defineService(TwoFactorService, twoFactorService)
