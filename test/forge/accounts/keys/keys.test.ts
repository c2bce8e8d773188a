import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findTokenById,
  listTokensFrom,
} from '../../../../src/forge/accounts/credentials/personal-access-tokens.rows.ts'
import {
  findGpgKeyByFingerprint,
  findGpgKeyByKeyId,
  findSigningKeys,
  listGpgKeys,
} from '../../../../src/forge/accounts/keys/gpg-keys.rows.ts'
import {
  findKeyByFingerprint,
  findPublicKeyOwners,
  hasPublicKeyTitle,
  listPublicKeys,
} from '../../../../src/forge/accounts/keys/public-keys.rows.ts'
import {
  findDeployKey,
  hasDeployKeyTitle,
  listDeployKeys,
} from '../../../../src/forge/repositories/access/deploy-keys.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('keys', () => {
  it('of an account are read in the order of an index', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listPublicKeys(watched, 1, '', 0, 30)
      await listPublicKeys(watched, 1, 'SHA256:x', 0, 30)
      await findKeyByFingerprint(watched, 'SHA256:x')
      await hasPublicKeyTitle(watched, 1, 'work')
    })
    const byFingerprint =
      'SEARCH public_keys USING INDEX sqlite_autoindex_public_keys_1 (fingerprint=?)'
    expect(plans).toEqual([
      ['SEARCH public_keys USING INDEX public_keys_of_user (user_id=?)'],
      ['SEARCH public_keys USING COVERING INDEX public_keys_of_user (user_id=?)'],
      [byFingerprint],
      [byFingerprint],
      [byFingerprint],
      ['SEARCH public_keys USING COVERING INDEX public_keys_title (user_id=? AND title=?)'],
    ])
  })

  it('of a repository are read in the order of an index', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listDeployKeys(watched, 1, { keyId: 0, fingerprint: '' }, 0, 30)
      await listDeployKeys(watched, 1, { keyId: 5, fingerprint: '' }, 0, 30)
      await findDeployKey(watched, 1, 5)
      await hasDeployKeyTitle(watched, 1, 'ci')
    })
    expect(plans.flat().filter((step) => !step.startsWith('SEARCH'))).toEqual([])
    expect(plans[0]).toEqual([
      'SEARCH deploy_keys USING INDEX deploy_keys_of_repository (repository_id=?)',
      'SEARCH public_keys USING INTEGER PRIMARY KEY (rowid=?)',
    ])
  })

  it('of OpenPGP are read in the order of an index', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listGpgKeys(watched, 1, 0, 30)
      await findGpgKeyByFingerprint(watched, 'x')
      await findGpgKeyByKeyId(watched, 1, 'X')
    })
    expect(plans).toEqual([
      ['SEARCH gpg_keys USING INDEX gpg_keys_of_user (user_id=?)'],
      ['SEARCH gpg_keys USING INDEX gpg_keys_of_user (user_id=?)'],
      ['SEARCH gpg_keys USING INDEX gpg_keys_primary (fingerprint=?)'],
      ['SEARCH gpg_keys USING INDEX gpg_keys_by_key_id (user_id=? AND key_id=?)'],
    ])
  })

  it('of many signatures are looked up together, by an index', async () => {
    const plans = await plansOf(db, async (watched) => {
      await findPublicKeyOwners(watched, ['SHA256:x', 'SHA256:y'])
      await findSigningKeys(watched, [1, 2], ['X', 'Y'])
      await findPublicKeyOwners(watched, [])
      await findSigningKeys(watched, [], ['X'])
    })
    expect(plans).toEqual([
      ['SEARCH public_keys USING INDEX sqlite_autoindex_public_keys_1 (fingerprint=?)'],
      expect.arrayContaining([
        'SEARCH part USING INDEX gpg_keys_by_key_id (user_id=? AND key_id=?)',
      ]),
    ])
    expect(plans.flat().filter((step) => step.startsWith('SCAN'))).toEqual([])
  })
})

describe('tokens', () => {
  it('of an account are read in the order of an index', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listTokensFrom(watched, 1, 0, 30)
      await findTokenById(watched, 1, 5)
    })
    expect(plans).toEqual([
      ['SEARCH personal_access_tokens USING INDEX personal_access_tokens_of_user (user_id=?)'],
      ['SEARCH personal_access_tokens USING INTEGER PRIMARY KEY (rowid=?)'],
    ])
  })
})
