import Channels
import ChannelsTesting
import Testing

/// What these tests expect of the testing kit's recorder.
struct RecorderTests {
    @Test func aRecorderOfASourceNotesWhatIsPostedBeforePostReturnsAndEndsWithIt() {
        let channel = Channel<Int>()
        do {
            let recorder = Recorder(of: channel)
            for message in 1...2 { #expect(channel.post(message) == 1) }
            #expect(recorder.takeAll() == [1, 2])
            channel.post(3)
            #expect(recorder.all == [3] && recorder.takeAll() == [3] && recorder.count == 0)
        }
        #expect(channel.isEmpty)
    }
}
