// Loaded when a failure shows, since most pages show none.

import { t } from '../language/texts.tsx'

const ADVICE: Readonly<Record<string, string>> = {
  APPROVALS_MISSING: t('Ask a reviewer to approve the changes.'),
  BAD_CREDENTIALS: t('Check the name and the password, then try again.'),
  CHANGES_REQUESTED: t('Make the requested changes, or ask the reviewer to review again.'),
  CONFIRMATION_REQUIRED: t(
    'Type your present password or a passcode. Without both, sign out and in again first.',
  ),
  EMAIL_TAKEN: t('Use another address.'),
  FIRST_ACCOUNT_REFUSED: t('Open the page on the machine of the server, or use the command below.'),
  GPG_KEY_EMAIL_UNKNOWN: t(
    'Add the signature that proves that the key is yours, or set your e-mail address to one of the key.',
  ),
  GPG_SIGNATURE_INVALID: t('Run the command again, and paste all of its output.'),
  HAS_ASSOCIATED_DATA: t('Choose that the content is deleted too, or delete or transfer it first.'),
  HEAD_BEHIND_BASE: t('Update the branch of the pull request from its target first.'),
  HEAD_COMMIT_DIFFERS: t('New commits have arrived. Look at them, then merge again.'),
  INVALID_EMAIL_TOKEN: t('Add the address again, and open the link of the new mail.'),
  INVALID_GPG_KEY: t('Paste the whole output of the command, with its first and last line.'),
  INVALID_RESET_TOKEN: t('Ask for a new mail.'),
  INVALID_SSH_KEY: t('Paste the one line of the file that ends in .pub.'),
  LAST_ORGANIZATION_OWNER: t(
    'Make another member an owner of the organisation, or delete the organisation first.',
  ),
  LAST_ADMIN: t('Make another user an administrator first.'),
  MAIL_NOT_CONFIGURED: t('Ask the administrator to configure mail.'),
  MERGE_CONFLICT: t('Merge the target branch into this one, resolve the conflicts, and push.'),
  MERGE_DENIED: t('Ask somebody who may write to the repository.'),
  PROTECTED_FILES_CHANGED: t('Leave the protected files as they are, or ask an administrator.'),
  PULL_REQUEST_NOT_MERGEABLE: t('Push new commits, or close the pull request.'),
  PULL_REQUEST_WORK_IN_PROGRESS: t('Remove the mark of unfinished work from the title first.'),
  PULL_REQUEST_EXISTS: t('Use the pull request that these branches have.'),
  REBASE_CONFLICT: t('Rebase the branch, resolve the conflicts, and push.'),
  REVIEWS_MISSING: t('Wait for the requested reviews.'),
  SSH_KEY_IN_USE: t('Use a key of its own for each account.'),
  STATUS_CHECKS_MISSING: t('Wait until the required checks have succeeded.'),
  TWO_FACTOR_INVALID: t('Type the six digits that the app shows now. Each of them works once.'),
  WEAK_PASSWORD: t('Choose a longer password that is not the username.'),
}

/** Returns what the user can do after a refusal for a reason; empty if there is nothing. */
export function adviceFor(reason: string): string {
  return ADVICE[reason] ?? ''
}
