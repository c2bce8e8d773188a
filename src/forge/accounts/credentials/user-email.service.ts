import type { ServiceImpl } from '@connectrpc/connect'
import { UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import type { App } from '../../app.ts'
import { type SignedIn, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { addEmails, deleteEmails, listEmails, verifyEmail } from './user-emails.ts'

/** Implements UserEmailService. */
function userEmailService(app: App): ServiceImpl<typeof UserEmailService> {
  const emailsOf = async (caller: SignedIn) => ({
    emails: (await listEmails(app, caller)).map((view) => ({
      ...view,
      userId: BigInt(caller.user.id),
      username: caller.user.username,
    })),
  })
  return {
    listUserEmails: (_, context) => emailsOf(signedIn(callerOf(context))),

    async addUserEmails({ emails, resend, currentPassword, verified }, context) {
      const caller = signedIn(callerOf(context))
      await addEmails(app, caller, { emails, resend, currentPassword, verified })
      return emailsOf(caller)
    },

    async deleteUserEmails({ emails }, context) {
      await deleteEmails(app, signedIn(callerOf(context)), emails)
      return {}
    },

    async verifyUserEmail({ token }, context) {
      await verifyEmail(app, signedIn(callerOf(context)), token)
      return {}
    },
  }
}

export const userEmails = defineService(UserEmailService, userEmailService)
