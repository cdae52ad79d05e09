#include "server/experience/staleness.h"

#include <gtest/gtest.h>

#include "server/experience/training_batch.h"

namespace murmurate {
namespace {

TEST(Staleness, MailHoldsTheAgesOfWhatSomebodysActorPlayed) {
  StalenessMail mail;
  std::vector<BatchTrajectory> batch(5);
  for (BatchTrajectory& trajectory : batch) trajectory.steps = 4;
  batch[0].sender = 7;
  batch[0].version = 9;
  batch[1].sender = 8;
  batch[1].version = 7;  // half of it three versions before, half of it now
  ASSERT_TRUE(batch[1].changes.Add(2, 3));
  batch[2].version = 10;  // nobody's
  batch[3].sender = 7;
  batch[3].version = 11;  // of another life of the model
  batch[4].sender = 7;
  batch[4].steps = 0;
  mail.Post(batch, 10);
  std::vector<StalenessMail::Age> ages;
  mail.Collect(&ages);
  ASSERT_EQ(ages.size(), 2u);
  EXPECT_EQ(ages[0].sender, 7u);
  EXPECT_EQ(ages[0].versions, 1u);
  EXPECT_EQ(ages[1].sender, 8u);
  EXPECT_EQ(ages[1].versions, 2u) << "the mean, rounded";
  mail.Collect(&ages);
  EXPECT_TRUE(ages.empty());
}

}  // namespace
}  // namespace murmurate
