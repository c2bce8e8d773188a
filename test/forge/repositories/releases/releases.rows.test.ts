import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findTagInAnyCase } from '../../../../src/forge/repositories/refs/tags.rows.ts'
import {
  findAttachment,
  listReleaseAssets,
  pageOfAttachments,
} from '../../../../src/forge/repositories/releases/release-assets.rows.ts'
import {
  countReleases,
  findEntryByTag,
  findRelease,
  listReleases,
} from '../../../../src/forge/repositories/releases/releases.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('releases', () => {
  it('are listed and counted by one index, and found by another', async () => {
    const published = { draft: false, prerelease: undefined }
    const plans = await plansOf(db, async (watched) => {
      await listReleases(watched, 1, published, 0, 30)
      await listReleases(watched, 1, { draft: false, prerelease: false }, 0, 1)
      await countReleases(watched, 1, published)
      await findRelease(watched, 1, 1)
      await findEntryByTag(watched, 1, 'v1')
      await findTagInAnyCase(watched, 1, 'v1')
    })
    expect(plans).toEqual([
      ['SEARCH releases USING INDEX releases_listed (repository_id=?)'],
      ['SEARCH releases USING INDEX releases_listed (repository_id=?)'],
      ['SEARCH releases USING COVERING INDEX releases_listed (repository_id=?)'],
      ['SEARCH releases USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH releases USING INDEX releases_by_tag (repository_id=? AND <expr>=?)'],
      ['SEARCH tags USING INDEX tags_folded (repository_id=? AND <expr>=?)'],
    ])
  })

  it('have assets that indexes find', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listReleaseAssets(watched, [1])
      await findAttachment(watched, 'uuid')
      await pageOfAttachments(watched, '', 10)
    })
    expect(plans[0]?.[0]).toBe('SEARCH release_assets USING INDEX release_assets_of (release_id=?)')
    expect(plans[1]?.[0]).toContain('(uuid=?)')
    expect(plans[2]?.[0]).toContain('(uuid>?)')
  })
})
