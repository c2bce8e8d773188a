/** Whether `npm run test:long` runs this test, which then does more of the same. */
export const isLongTier = process.env.TEST_TIER === 'long'
